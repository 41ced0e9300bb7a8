"""What a coordinator remembers. Every transition is made by a verb in a sibling module.

A run has rounds; a round starts from a snapshot and has one unit per shard it uses; a unit is
leased to a worker; a lease delivers a result; the round's results are merged into the next
snapshot. Bytes live in the blob store under the digests named here.
"""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from coordination.aggregation.lora import pairs_of
from coordination.aggregation.merge import MergePlan
from coordination.aggregation.outer import Adam, Nesterov, Outer, Sgd, Yogi
from coordination.aggregation.rules import DEFAULT_RULE, DEFAULT_SHARE, RULES
from coordination.trust.policy import CheckPolicy, Quota, Standing
from worker_client.contract.formats import Format, load_format
from worker_client.contract.recipe import largest_update_norm
from worker_client.contract.wire import RAW_ENCODING

SHA256_LENGTH = 64


def _between(low: float, high: float) -> list:
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

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, max_length=4000)
    state = models.CharField(max_length=10, choices=State, default=State.READY)
    pause_reason = models.CharField(max_length=300, blank=True)
    version = models.PositiveBigIntegerField(
        default=0, help_text=_("Rises with every change that a watcher can see.")
    )

    format = models.CharField(max_length=80)
    recipe = models.CharField(max_length=40, default="v1")
    mode = models.CharField(max_length=3, choices=Mode, default=Mode.CPT)
    rounds = models.PositiveIntegerField(validators=_between(1, 10**6))
    inner_steps = models.PositiveIntegerField(default=20, validators=_between(1, 10_000))
    batch_size = models.PositiveIntegerField(default=4, validators=_between(1, 1024))
    seq_len = models.PositiveIntegerField(default=512, validators=_between(8, 8192))
    lr = models.FloatField(default=2e-4, validators=_between(1e-12, 1))
    seed = models.PositiveBigIntegerField(default=0, validators=_between(0, 2**53 - 1))
    shards = models.PositiveIntegerField(validators=_between(1, 10**6))
    tokenizer_sha256 = models.CharField(
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("Of a model from scratch; adapters use their base model's."),
    )
    serves_data = models.BooleanField(default=False)
    open_to_all = models.BooleanField(
        default=True,
        help_text=_("Otherwise only workers that an admin has approved may take part."),
    )

    units_per_round = models.PositiveIntegerField(
        validators=_between(1, 10**5),
        help_text=_("Shards trained in one round, in rotation."),
    )
    target_results = models.PositiveIntegerField(
        validators=_between(1, 10**5),
        help_text=_("A round closes when it has so many results."),
    )
    min_results = models.PositiveIntegerField(
        default=1,
        validators=_between(1, 10**5),
        help_text=_("Past its deadline a round closes with this many; fewer never merge."),
    )
    round_seconds = models.PositiveIntegerField(default=3600, validators=_between(5, 30 * 86400))
    lease_seconds = models.PositiveIntegerField(default=600, validators=_between(5, 30 * 86400))
    lease_max_seconds = models.PositiveIntegerField(
        default=6 * 3600,
        validators=_between(5, 30 * 86400),
        help_text=_("However often a worker reports progress, a lease ends after this long."),
    )
    max_leases_per_worker = models.PositiveIntegerField(default=1, validators=_between(1, 1000))
    max_leases_per_address = models.PositiveIntegerField(default=16, validators=_between(1, 10000))
    max_unregistered_per_address = models.PositiveIntegerField(
        default=8,
        validators=_between(0, 10000),
        help_text=_("Leases that workers without a token may hold together from one address."),
    )
    rule = models.CharField(
        max_length=20,
        choices=Rule,
        default=Rule(DEFAULT_RULE),
        help_text=_("With too few results for it the median or the mean stands in."),
    )
    byzantine_share = models.FloatField(
        default=DEFAULT_SHARE,
        validators=_between(0, 0.49),
        help_text=_("The part of a round's results that may be hostile and the rule survives."),
    )
    clip_norms = models.BooleanField(
        default=False,
        help_text=_("Shorten updates to the round's median norm before they are merged."),
    )
    exact_lora = models.BooleanField(
        default=False,
        help_text=_("Average the products of LoRA's factors instead of the factors."),
    )
    outer = models.CharField(max_length=10, choices=OuterOptimiser, default=OuterOptimiser.NESTEROV)
    outer_lr = models.FloatField(default=1.0, validators=_between(1e-6, 10))
    outer_momentum = models.FloatField(
        default=0.5,
        validators=_between(0, 0.999),
        help_text=_("Nesterov's momentum; β1 of FedAdam and FedYogi."),
    )
    outer_beta2 = models.FloatField(
        default=0.99, validators=_between(0, 0.99999), help_text=_("Of FedAdam and FedYogi.")
    )
    outer_tau = models.FloatField(
        default=1e-3,
        validators=_between(1e-12, 1),
        help_text=_("How little FedAdam and FedYogi adapt; no less than an update of one weight."),
    )
    encoding = models.CharField(
        max_length=20,
        default=RAW_ENCODING,
        choices=Encoding,
        help_text=_("How results travel; programs that lack it send all weights."),
    )
    downlink = models.CharField(
        max_length=20,
        blank=True,
        choices=[choice for choice in Encoding.choices if choice[0] != RAW_ENCODING],
        help_text=_("How updates are published to workers that hold the last snapshot."),
    )
    verify = models.BooleanField(
        default=True,
        help_text=_("Have results repeated by other workers, where there are any that can."),
    )
    proven_after = models.PositiveIntegerField(
        default=10,
        validators=_between(1, 10**6),
        help_text=_("So many valid checks in a row make a worker a proven one."),
    )
    check_floor = models.FloatField(
        default=0.1,
        validators=_between(0, 1),
        help_text=_("Smallest probability that a proven worker's result is checked."),
    )
    trust_weights = models.BooleanField(
        default=False,
        help_text=_("Results that nobody has repeated weigh less in the merge."),
    )
    quorum = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=_between(1, 10**5),
        help_text=_(
            "With this many results a round waits for a grace period only; none: it waits."
        ),
    )
    grace_factor = models.FloatField(
        default=5.0,
        validators=_between(0, 1000),
        help_text=_("The grace ends so many median absolute deviations after the median arrival."),
    )
    backup_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=_between(0, 30 * 86400),
        help_text=_(
            "So long before the deadline a task in work is leased a second time; none: a quarter "
            "of the round's length, 0: never."
        ),
    )
    chunk_bytes = models.PositiveIntegerField(
        default=2**20, validators=_between(64 * 1024, 8 * 2**20)
    )
    keep_snapshots = models.PositiveIntegerField(
        default=10,
        validators=_between(2, 10**6),
        help_text=_("Older snapshots are deleted."),
    )

    data_licence = models.CharField(max_length=300, blank=True)
    data_source = models.TextField(max_length=4000, blank=True)
    contact = models.CharField(max_length=300, blank=True)
    min_worker_version = models.CharField(max_length=40, blank=True)
    bytes_up = models.PositiveBigIntegerField(default=0)
    bytes_down = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

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


class DataShard(models.Model):
    """One of the run's equal data files, served at ``/veri?parca=K``."""

    run = models.ForeignKey(Run, models.CASCADE)
    index = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField()
    rows = models.PositiveBigIntegerField()

    class Meta:
        ordering = ["run", "index"]
        verbose_name = _("data shard")
        verbose_name_plural = _("data shards")
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="one_shard_per_index")]

    def __str__(self) -> str:
        return f"{self.run} #{self.index}"


class Snapshot(models.Model):
    """The weights that round ``number`` starts from."""

    run = models.ForeignKey(Run, models.CASCADE)
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField()
    data_start = models.PositiveIntegerField(
        help_text=_("Where the raw weights begin in the file, in bytes.")
    )
    delta_sha256 = models.CharField(
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("The compressed update that leads here from the one before."),
    )
    delta_size = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "number"]
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_snapshot_per_number")
        ]

    def __str__(self) -> str:
        return f"{self.run} v{self.number}"


class OuterState(models.Model):
    """One vector of the outer optimiser's state that belongs to a snapshot."""

    snapshot = models.ForeignKey(Snapshot, models.CASCADE)
    name = models.CharField(max_length=20, help_text=_("What the optimiser calls it."))
    sha256 = models.CharField(
        max_length=SHA256_LENGTH, help_text=_("Raw float32 in manifest order.")
    )

    class Meta:
        ordering = ["snapshot", "name"]
        verbose_name = _("outer state")
        verbose_name_plural = _("outer states")
        constraints = [
            models.UniqueConstraint(fields=["snapshot", "name"], name="one_outer_state_per_name")
        ]

    def __str__(self) -> str:
        return f"{self.snapshot} {self.name}"


class Round(models.Model):
    class State(models.TextChoices):
        OPEN = "open", _("open")
        MERGING = "merging", _("merging")
        PUBLISHED = "published", _("published")

    run = models.ForeignKey(Run, models.CASCADE)
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    attempt = models.PositiveIntegerField(
        default=0, help_text=_("Which merge attempt may publish this round.")
    )
    participants = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Ids of the results in the running merge attempt."),
    )
    reopenings = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    merge_claimed_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    loss = models.FloatField(null=True, blank=True)
    accepted = models.PositiveIntegerField(default=0)
    screened = models.PositiveIntegerField(default=0)
    update_norm = models.FloatField(null=True, blank=True)
    rule = models.CharField(max_length=20, choices=Run.Rule, blank=True)
    fallback = models.CharField(
        max_length=200, blank=True, help_text=_("Why the run's own rule was not used.")
    )
    lora_bias = models.FloatField(
        null=True,
        blank=True,
        help_text=_("How far the product of the mean factors is from the mean product, as a part."),
    )

    class Meta:
        ordering = ["run", "number"]
        verbose_name = _("round")
        verbose_name_plural = _("rounds")
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_round_per_number"),
            models.UniqueConstraint(
                fields=["run"],
                condition=~Q(state="published"),
                name="one_unpublished_round",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} r{self.number}"

    @property
    def seconds(self) -> float | None:
        if self.published_at is None:
            return None
        # A clock may have been set back in between.
        return max(0.0, (self.published_at - self.opened_at).total_seconds())


class Worker(models.Model):
    """A pseudonym in a run. Whoever registered it proves it by a token, of which a digest is kept.

    Work under a name that nobody registered has a row of its own, without a digest. A later
    registration makes another row: what strangers did under the name stays theirs.
    """

    class State(models.TextChoices):
        PENDING = "pending", _("waiting for approval")
        APPROVED = "approved", _("approved")
        PAUSED = "paused", _("paused")
        BLOCKED = "blocked", _("blocked")

    run = models.ForeignKey(Run, models.CASCADE)
    name = models.CharField(max_length=32)
    token_digest = models.CharField(max_length=SHA256_LENGTH, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.APPROVED)
    state_reason = models.CharField(max_length=300, blank=True)
    is_listed = models.BooleanField(
        _("on the leaderboard"), default=True, help_text=_("The volunteer's own choice.")
    )
    device = models.JSONField(default=dict, blank=True)
    sequence = models.PositiveBigIntegerField(
        null=True, blank=True, help_text=_("Highest number of a lease request so far.")
    )
    sequence_request = models.CharField(max_length=SHA256_LENGTH, blank=True)
    copies_seen = models.PositiveIntegerField(
        default=0, help_text=_("Lease requests from a copy of the worker's state folder.")
    )
    copy_seen_at = models.DateTimeField(null=True, blank=True)
    verifies = models.BooleanField(
        default=False, help_text=_("Offered to check others' results when last heard from.")
    )
    address = models.GenericIPAddressField(null=True, blank=True)
    consecutive_valid = models.PositiveIntegerField(
        default=0, help_text=_("Results in a row that were checked and found right.")
    )
    checks_valid = models.PositiveIntegerField(default=0)
    checks_invalid = models.PositiveIntegerField(default=0)
    quota = models.PositiveIntegerField(
        default=Quota().full,
        help_text=_("Tasks an hour; halves with an error, doubles with an accepted result."),
    )
    task_seconds = models.FloatField(
        null=True, blank=True, help_text=_("From lease to result, a moving average.")
    )
    first_seen_at = models.DateTimeField(auto_now_add=True)
    registered_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Empty until it asks for work.")
    )

    class Meta:
        ordering = ["run", "name", "pk"]
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        constraints = [
            models.UniqueConstraint(
                fields=["run", "name"],
                condition=Q(token_digest=""),
                name="one_unregistered_worker_per_name",
            ),
            models.UniqueConstraint(
                fields=["run", "name"],
                condition=~Q(token_digest=""),
                name="one_registered_worker_per_name",
            ),
            models.UniqueConstraint(
                fields=["run", "token_digest"],
                condition=~Q(token_digest=""),
                name="one_worker_per_token",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def standing(self) -> Standing:
        return Standing(self.consecutive_valid, self.checks_valid, self.checks_invalid)

    @property
    def is_registered(self) -> bool:
        """Whether the name has an owner; only then can it earn trust."""
        return self.token_digest != ""


class WorkerEvent(models.Model):
    """Something that changed what a worker may do, and who decided it. Only ever added."""

    class Verb(models.TextChoices):
        REGISTERED = "registered", _("registered")
        APPROVED = "approved", _("approved")
        PAUSED = "paused", _("paused")
        BLOCKED = "blocked", _("blocked")
        UNBLOCKED = "unblocked", _("let in again")

    worker = models.ForeignKey(Worker, models.CASCADE, related_name="events")
    at = models.DateTimeField()
    verb = models.CharField(max_length=10, choices=Verb)
    reason = models.CharField(max_length=300, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text=_("Empty: the worker itself, or a command on the server."),
    )

    class Meta:
        ordering = ["-at", "-pk"]
        verbose_name = _("worker event")
        verbose_name_plural = _("worker events")

    def __str__(self) -> str:
        return f"{self.worker} {self.verb}"


class Unit(models.Model):
    """One piece of work in a round: a shard to train, or another job on its results."""

    class Job(models.TextChoices):
        TRAIN = "train", _("train")
        VERIFY = "verify", _("verify")
        EVALUATE = "evaluate", _("evaluate")

    class State(models.TextChoices):
        FREE = "free", _("free")
        LEASED = "leased", _("leased")
        DONE = "done", _("done")

    round = models.ForeignKey(Round, models.CASCADE)
    shard = models.PositiveIntegerField()
    job = models.CharField(max_length=10, choices=Job, default=Job.TRAIN)
    target = models.ForeignKey(
        "Result",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="jobs",
        help_text=_("The result that a job other than training is about."),
    )
    state = models.CharField(max_length=10, choices=State, default=State.FREE)
    barred = models.ManyToManyField(
        Worker, blank=True, help_text=_("Workers who tried it and may not again.")
    )

    class Meta:
        ordering = ["round", "shard"]
        verbose_name = _("unit")
        verbose_name_plural = _("units")
        constraints = [
            models.UniqueConstraint(
                fields=["round", "shard"],
                condition=Q(job="train"),
                name="one_unit_per_shard",
            ),
            models.CheckConstraint(
                condition=Q(job="train", target=None) | (~Q(job="train") & Q(target__isnull=False)),
                name="other_jobs_have_targets",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.round} #{self.shard}"


class Lease(models.Model):
    class State(models.TextChoices):
        LIVE = "live", _("live")
        DELIVERED = "delivered", _("delivered")
        EXPIRED = "expired", _("expired")
        REFUSED = "refused", _("refused")

    token = models.CharField(max_length=64, unique=True)
    unit = models.ForeignKey(Unit, models.CASCADE)
    worker = models.ForeignKey(Worker, models.CASCADE)
    request_digest = models.CharField(max_length=SHA256_LENGTH)
    key_digest = models.CharField(max_length=SHA256_LENGTH)
    state = models.CharField(max_length=10, choices=State, default=State.LIVE)
    address = models.GenericIPAddressField()
    encoding = models.CharField(max_length=20, default=RAW_ENCODING)
    is_backup = models.BooleanField(
        default=False, help_text=_("A second lease of a unit near its round's deadline.")
    )
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    step = models.PositiveIntegerField(default=0)
    loss = models.FloatField(null=True, blank=True)
    commitment = models.CharField(
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("Digest promised before the upload."),
    )

    class Meta:
        ordering = ["-granted_at", "-id"]
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        indexes = [models.Index(fields=["state", "expires_at"])]
        constraints = [
            models.UniqueConstraint(fields=["worker", "request_digest"], name="request_used_once"),
            models.UniqueConstraint(
                fields=["unit", "is_backup"],
                condition=Q(state="live"),
                name="one_live_lease_per_unit",
            ),
        ]

    def __str__(self) -> str:
        return self.token


class Upload(models.Model):
    """A result on its way in chunks; what has arrived is the length of its file."""

    lease = models.OneToOneField(Lease, models.CASCADE)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("upload")
        verbose_name_plural = _("uploads")

    def __str__(self) -> str:
        return f"{self.lease} {self.sha256[:12]}"


class Result(models.Model):
    """A verdict on one file of one lease. Kept, so that the same bytes get the same answer."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        MERGED = "merged", _("merged")
        SCREENED = "screened", _("screened out")
        UNVERIFIED = "unverified", _("not verified in time")
        REFUSED = "refused", _("refused")
        USED = "used", _("used to judge another")

    lease = models.ForeignKey(Lease, models.CASCADE)
    unit = models.ForeignKey(Unit, models.CASCADE)
    sha256 = models.CharField(max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField()
    state = models.CharField(max_length=10, choices=State)
    code = models.CharField(max_length=40, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    holds_unit = models.BooleanField(
        default=False, help_text=_("Whether this is the result that its unit counts.")
    )
    vector_sha256 = models.CharField(
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("Raw weights in manifest order."),
    )
    update_norm = models.FloatField(null=True, blank=True)
    sketch = models.BinaryField(
        null=True, help_text=_("Of the update, until its round is published.")
    )
    weight = models.FloatField(
        null=True, blank=True, help_text=_("How much of the update was merged.")
    )
    loss_first = models.FloatField(null=True, blank=True)
    loss_last = models.FloatField(null=True, blank=True)
    loss = models.FloatField(null=True, blank=True, help_text=_("Mean over the task's steps."))
    tokens = models.PositiveBigIntegerField(null=True, blank=True)
    train_seconds = models.FloatField(null=True, blank=True)
    device = models.CharField(max_length=100, blank=True)
    dtype = models.CharField(max_length=40, blank=True)
    worker_version = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = _("result")
        verbose_name_plural = _("results")
        constraints = [
            models.UniqueConstraint(fields=["lease", "sha256"], name="one_verdict_per_file"),
            models.UniqueConstraint(
                fields=["unit"],
                condition=Q(holds_unit=True),
                name="one_result_per_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit} {self.sha256[:12]}"


class Check(models.Model):
    """Whether one result could be repeated by others, with the evidence.

    While it is pending its result is held out of the merge. A result without a check is one of a
    proven worker that the draw passed over.
    """

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        VALID = "valid", _("valid")
        INVALID = "invalid", _("invalid")
        UNDECIDED = "undecided", _("the repetitions differ")
        LATE = "late", _("not verified in time")
        WAIVED = "waived", _("nobody could verify it")

    class Reason(models.TextChoices):
        UNPROVEN = "unproven", _("the worker is unproven")
        DRAWN = "drawn", _("drawn by lot")

    result = models.OneToOneField(Result, models.CASCADE, related_name="verification")
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    reason = models.CharField(max_length=10, choices=Reason)
    evidence = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Per repetition: who made it how, how far it lies from what, the tolerance."),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = _("check")
        verbose_name_plural = _("checks")

    def __str__(self) -> str:
        return f"{self.result}: {self.get_state_display()}"
