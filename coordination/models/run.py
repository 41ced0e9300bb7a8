"""A run, with its settings."""

from typing import TYPE_CHECKING

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from coordination.aggregation.lora import pairs_of
from coordination.aggregation.merge import MergePlan
from coordination.aggregation.outer import Adam, Nesterov, Outer, Sgd, Yogi
from coordination.aggregation.rules import DEFAULT_RULE, DEFAULT_SHARE, RULES
from coordination.trust.policy import CheckPolicy
from worker_client.contract.formats import Format, load_format
from worker_client.contract.recipe import largest_update_norm
from worker_client.contract.wire import RAW_ENCODING

if TYPE_CHECKING:
    from coordination.models.round import Round

SHA256_LENGTH = 64


def between(low: float, high: float) -> list:
    return [MinValueValidator(low), MaxValueValidator(high)]


class Run(models.Model):
    class Encoding(models.TextChoices):
        RAW = RAW_ENCODING, _("all weights, float32")
        BF16 = "bf16", _("delta, bfloat16")
        INT8 = "int8", _("delta, 8 bits")
        INT4 = "int4", _("delta, 4 bits")
        TOPK = "topk", _("delta, the largest in 64")

    class State(models.TextChoices):
        READY = "ready", _("ready")
        OPEN = "open", _("open")
        PAUSED = "paused", _("paused")
        FINISHED = "finished", _("finished")

    class Mode(models.TextChoices):
        CPT = "cpt", _("continued pretraining")
        SFT = "sft", _("instruction tuning")

    class Rule(models.TextChoices):
        """How a round's results are merged; see ``coordination.aggregation.rules``."""

        MEAN = "mean", _("mean")
        TOKEN_MEAN = "token_mean", _("mean by tokens")
        MEDIAN = "median", _("coordinate median")
        TRIMMED_MEAN = "trimmed_mean", _("trimmed mean")
        KRUM = "krum", _("Krum")
        MULTI_KRUM = "multi_krum", _("multi-Krum")
        GEOMETRIC_MEDIAN = "geometric_median", _("geometric median")
        CENTERED_CLIPPING = "centered_clipping", _("centered clipping")

    class OuterOptimiser(models.TextChoices):
        SGD = "sgd", _("plain descent")
        NESTEROV = "nesterov", "Nesterov"
        ADAM = "adam", "FedAdam"
        YOGI = "yogi", "FedYogi"

    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    name = models.CharField(_("name"), max_length=120)
    description = models.TextField(_("description"), blank=True, max_length=4000)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.READY)
    pause_reason = models.CharField(_("reason of the pause"), max_length=300, blank=True)
    version = models.PositiveBigIntegerField(
        _("version"), default=0, help_text=_("Rises with every change that a watcher can see.")
    )

    format = models.CharField(_("format"), max_length=80)
    recipe = models.CharField(_("recipe"), max_length=40, default="v1")
    mode = models.CharField(_("what is trained"), max_length=3, choices=Mode, default=Mode.CPT)
    rounds = models.PositiveIntegerField(_("rounds"), validators=between(1, 10**6))
    inner_steps = models.PositiveIntegerField(
        _("steps of a task"), default=20, validators=between(1, 10_000)
    )
    batch_size = models.PositiveIntegerField(
        _("batch size"), default=4, validators=between(1, 1024)
    )
    seq_len = models.PositiveIntegerField(
        _("tokens in a row"), default=512, validators=between(8, 8192)
    )
    lr = models.FloatField(_("learning rate"), default=2e-4, validators=between(1e-12, 1))
    seed = models.PositiveBigIntegerField(_("seed"), default=0, validators=between(0, 2**53 - 1))
    shards = models.PositiveIntegerField(_("shards"), validators=between(1, 10**6))
    tokenizer_sha256 = models.CharField(
        _("digest of the tokenizer"),
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("Of a model from scratch; adapters use their base model's."),
    )
    serves_data = models.BooleanField(_("serves data"), default=False)
    open_to_all = models.BooleanField(
        _("open to all"),
        default=True,
        help_text=_("Otherwise only workers that an admin has approved may take part."),
    )

    units_per_round = models.PositiveIntegerField(
        _("units per round"),
        validators=between(1, 10**5),
        help_text=_("Shards trained in one round, in rotation."),
    )
    target_results = models.PositiveIntegerField(
        _("results that close a round"),
        validators=between(1, 10**5),
        help_text=_("A round closes when it has so many results."),
    )
    min_results = models.PositiveIntegerField(
        _("least results"),
        default=1,
        validators=between(1, 10**5),
        help_text=_("Past its deadline a round closes with this many; fewer never merge."),
    )
    round_seconds = models.PositiveIntegerField(
        _("length of a round, in seconds"), default=3600, validators=between(5, 30 * 86400)
    )
    lease_seconds = models.PositiveIntegerField(
        _("lease without news, in seconds"), default=600, validators=between(5, 30 * 86400)
    )
    lease_max_seconds = models.PositiveIntegerField(
        _("longest lease, in seconds"),
        default=6 * 3600,
        validators=between(5, 30 * 86400),
        help_text=_("However often a worker reports progress, a lease ends after this long."),
    )
    max_leases_per_worker = models.PositiveIntegerField(
        _("leases per worker"), default=1, validators=between(1, 1000)
    )
    max_leases_per_address = models.PositiveIntegerField(
        _("leases per address"), default=16, validators=between(1, 10000)
    )
    max_unregistered_per_address = models.PositiveIntegerField(
        _("unregistered leases per address"),
        default=8,
        validators=between(0, 10000),
        help_text=_("Leases that workers without a token may hold together from one address."),
    )
    rule = models.CharField(
        _("merging rule"),
        max_length=20,
        choices=Rule,
        default=Rule(DEFAULT_RULE),
        help_text=_("With too few results for it the median or the mean stands in."),
    )
    byzantine_share = models.FloatField(
        _("hostile share survived"),
        default=DEFAULT_SHARE,
        validators=between(0, 0.49),
        help_text=_("The part of a round's results that may be hostile and the rule survives."),
    )
    clip_norms = models.BooleanField(
        _("clip norms"),
        default=False,
        help_text=_("Shorten updates to the round's median norm before they are merged."),
    )
    exact_lora = models.BooleanField(
        _("exact LoRA products"),
        default=False,
        help_text=_("Average the products of LoRA's factors instead of the factors."),
    )
    outer = models.CharField(
        _("outer optimiser"), max_length=10, choices=OuterOptimiser, default=OuterOptimiser.NESTEROV
    )
    outer_lr = models.FloatField(
        _("outer learning rate"), default=1.0, validators=between(1e-6, 10)
    )
    outer_momentum = models.FloatField(
        _("outer momentum"),
        default=0.5,
        validators=between(0, 0.999),
        help_text=_("Nesterov's momentum; β1 of FedAdam and FedYogi."),
    )
    outer_beta2 = models.FloatField(
        _("outer β2"),
        default=0.99,
        validators=between(0, 0.99999),
        help_text=_("Of FedAdam and FedYogi."),
    )
    outer_tau = models.FloatField(
        _("outer τ"),
        default=1e-3,
        validators=between(1e-12, 1),
        help_text=_("How little FedAdam and FedYogi adapt; no less than an update of one weight."),
    )
    encoding = models.CharField(
        _("encoding of results"),
        max_length=20,
        default=RAW_ENCODING,
        choices=Encoding,
        help_text=_("How results travel; programs that lack it send all weights."),
    )
    downlink = models.CharField(
        _("encoding of updates on the way down"),
        max_length=20,
        blank=True,
        choices=[choice for choice in Encoding.choices if choice[0] != RAW_ENCODING],
        help_text=_("How updates are published to workers that hold the last snapshot."),
    )
    verify = models.BooleanField(
        _("check results by repetition"),
        default=True,
        help_text=_("Have results repeated by other workers, where there are any that can."),
    )
    proven_after = models.PositiveIntegerField(
        _("proven after valid checks"),
        default=10,
        validators=between(1, 10**6),
        help_text=_("So many valid checks in a row make a worker a proven one."),
    )
    check_floor = models.FloatField(
        _("least share of checks"),
        default=0.1,
        validators=between(0, 1),
        help_text=_("Smallest probability that a proven worker's result is checked."),
    )
    trust_weights = models.BooleanField(
        _("weigh by trust"),
        default=False,
        help_text=_("Results that nobody has repeated weigh less in the merge."),
    )
    quorum = models.PositiveIntegerField(
        _("quorum"),
        null=True,
        blank=True,
        validators=between(1, 10**5),
        help_text=_(
            "With this many results a round waits for a grace period only; none: it waits."
        ),
    )
    grace_factor = models.FloatField(
        _("grace factor"),
        default=5.0,
        validators=between(0, 1000),
        help_text=_("The grace ends so many median absolute deviations after the median arrival."),
    )
    backup_seconds = models.PositiveIntegerField(
        _("second leases before the deadline, in seconds"),
        null=True,
        blank=True,
        validators=between(0, 30 * 86400),
        help_text=_(
            "So long before the deadline a task in work is leased a second time; none: a quarter "
            "of the round's length, 0: never."
        ),
    )
    chunk_bytes = models.PositiveIntegerField(
        _("transfer chunk, in bytes"), default=2**20, validators=between(64 * 1024, 8 * 2**20)
    )
    keep_snapshots = models.PositiveIntegerField(
        _("snapshots kept"),
        default=10,
        validators=between(2, 10**6),
        help_text=_("Older snapshots are deleted."),
    )

    corpus = models.JSONField(_("text"), default=dict, blank=True, editable=False)
    corpus_public = models.BooleanField(
        _("show the text"),
        default=False,
        help_text=_("Everybody may see what the text is made of; never that of a closed run."),
    )
    data_licence = models.CharField(_("licence of the data"), max_length=300, blank=True)
    data_source = models.TextField(_("source of the data"), max_length=4000, blank=True)
    contact = models.CharField(_("contact"), max_length=300, blank=True)
    min_worker_version = models.CharField(_("oldest worker version"), max_length=40, blank=True)
    bytes_up = models.PositiveBigIntegerField(_("bytes up"), default=0)
    bytes_down = models.PositiveBigIntegerField(_("bytes down"), default=0)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = _("run")
        verbose_name_plural = _("runs")

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("coordination:run", args=[self.slug])

    @property
    def manifest(self) -> Format:
        return load_format(self.format)

    @property
    def tokenizer(self) -> str | None:
        """Digest of the tokenizer that the run's data is made with, if it is known."""
        return self.manifest.tokenizer_sha256 or self.tokenizer_sha256 or None

    @property
    def shows_corpus(self) -> bool:
        """Whether everybody may see what the run's text is made of."""
        return bool(self.corpus and self.corpus_public and self.open_to_all)

    @property
    def encodings(self) -> list[str]:
        """What results may come in, the preferred first."""
        return list(dict.fromkeys((self.encoding, RAW_ENCODING)))

    @property
    def norm_limit(self) -> float:
        """The L2 norm above which no honest result of this run can lie."""
        return largest_update_norm(self.lr, self.inner_steps, self.manifest.parameters)

    @property
    def outer_optimiser(self) -> Outer:
        if self.outer == self.OuterOptimiser.SGD:
            return Sgd(self.outer_lr)
        if self.outer == self.OuterOptimiser.NESTEROV:
            return Nesterov(self.outer_lr, self.outer_momentum)
        adaptive = Yogi if self.outer == self.OuterOptimiser.YOGI else Adam
        return adaptive(self.outer_lr, self.outer_momentum, self.outer_beta2, self.outer_tau)

    @property
    def merge_plan(self) -> MergePlan:
        return MergePlan(
            rule=RULES[self.rule],
            byzantine_share=self.byzantine_share,
            clip=self.clip_norms,
            outer=self.outer_optimiser,
            pairs=pairs_of(self.manifest),
            exact=self.exact_lora,
        )

    @property
    def check_policy(self) -> CheckPolicy:
        return CheckPolicy(self.proven_after, self.check_floor)

    @property
    def current_round(self) -> "Round | None":
        return self.round_set.order_by("-number").first()


def touch(run_id: int) -> None:
    """Tell watchers that something about the run has changed.

    Last in a transaction: rows are locked in the order worker, round, unit, lease, run, since two
    that wait for each other are a deadlock on PostgreSQL.
    """
    Run.objects.filter(pk=run_id).update(version=F("version") + 1)
