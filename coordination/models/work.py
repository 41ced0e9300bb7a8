"""Work, who has leased it, and what is on its way back."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from coordination.models.round import Round
from coordination.models.run import SHA256_LENGTH
from coordination.models.worker import Worker
from worker_client.contract.wire import RAW_ENCODING


class Unit(models.Model):
    """One piece of work in a round: a shard to train, or another job on its results."""

    class Job(models.TextChoices):
        TRAIN = "train", _("train")
        VERIFY = "verify", _("verify")
        EVALUATE = "evaluate", _("evaluate")
        PREPROCESS = "preprocess", _("prepare text")

    class State(models.TextChoices):
        FREE = "free", _("free")
        LEASED = "leased", _("leased")
        DONE = "done", _("done")

    round = models.ForeignKey(Round, models.CASCADE, verbose_name=_("round"))
    shard = models.PositiveIntegerField(_("shard"))
    job = models.CharField(_("job"), max_length=10, choices=Job, default=Job.TRAIN)
    target = models.ForeignKey(
        "Result",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="jobs",
        help_text=_("The result that is checked by this work."),
        verbose_name=_("result in question"),
    )
    snapshot = models.ForeignKey(
        "Snapshot",
        models.CASCADE,
        null=True,
        blank=True,
        help_text=_("The snapshot that is evaluated."),
        verbose_name=_("snapshot"),
    )
    held_out = models.ForeignKey(
        "HeldOut",
        models.CASCADE,
        null=True,
        blank=True,
        help_text=_("What it is evaluated on."),
        verbose_name=_("held-out shard"),
    )
    chunk = models.ForeignKey(
        "Chunk",
        models.CASCADE,
        null=True,
        blank=True,
        help_text=_("The text that is made into rows."),
        verbose_name=_("chunk of text"),
    )
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.FREE)
    barred = models.ManyToManyField(
        Worker,
        blank=True,
        help_text=_("Workers who tried it and may not again."),
        verbose_name=_("barred workers"),
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
            models.UniqueConstraint(
                fields=["snapshot", "held_out"],
                condition=Q(job="evaluate", target=None),
                name="one_unit_per_snapshot_and_language",
            ),
            models.UniqueConstraint(fields=["chunk"], name="one_unit_per_chunk"),
            models.CheckConstraint(
                condition=Q(job="train", target=None, snapshot=None, chunk=None)
                | Q(job="verify", target__isnull=False, snapshot=None, chunk=None)
                | Q(job="evaluate", target__isnull=False, snapshot=None, chunk=None)
                | Q(
                    job="evaluate",
                    target=None,
                    snapshot__isnull=False,
                    held_out__isnull=False,
                    chunk=None,
                )
                | Q(job="preprocess", target=None, snapshot=None, chunk__isnull=False),
                name="every_job_has_its_object",
            ),
        ]

    def __str__(self) -> str:
        if self.snapshot:
            return str(self.snapshot)
        if self.chunk:
            return str(self.chunk)
        return f"{self.round} #{self.shard}"

    @property
    def outlives_round(self) -> bool:
        """Whether the work is wanted whatever becomes of its round: no round waits for it."""
        return self.snapshot_id is not None

    @property
    def is_check(self) -> bool:
        """Whether it is work on another result, which is held out of the merge until it is done."""
        return self.target_id is not None


class Lease(models.Model):
    class State(models.TextChoices):
        LIVE = "live", _("live")
        DELIVERED = "delivered", _("delivered")
        EXPIRED = "expired", _("expired")
        REFUSED = "refused", _("refused")

    token = models.CharField(_("identifier"), max_length=64, unique=True)
    unit = models.ForeignKey(Unit, models.CASCADE, verbose_name=_("unit"))
    worker = models.ForeignKey(Worker, models.CASCADE, verbose_name=_("worker"))
    request_digest = models.CharField(_("digest of the request"), max_length=SHA256_LENGTH)
    key_digest = models.CharField(_("digest of the key"), max_length=SHA256_LENGTH)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.LIVE)
    address = models.GenericIPAddressField(_("address"))
    encoding = models.CharField(_("encoding of results"), max_length=20, default=RAW_ENCODING)
    is_backup = models.BooleanField(
        _("second lease"),
        default=False,
        help_text=_("A second lease of a unit near its round's deadline."),
    )
    granted_at = models.DateTimeField(_("granted"))
    expires_at = models.DateTimeField(_("expires"))
    step = models.PositiveIntegerField(_("step"), default=0)
    loss = models.FloatField(_("loss"), null=True, blank=True)
    commitment = models.CharField(
        _("promised digest"),
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

    lease = models.OneToOneField(Lease, models.CASCADE, verbose_name=_("lease"))
    size = models.PositiveBigIntegerField(_("size, in bytes"))
    sha256 = models.CharField(_("SHA-256"), max_length=SHA256_LENGTH)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("upload")
        verbose_name_plural = _("uploads")

    def __str__(self) -> str:
        return f"{self.lease} {self.sha256[:12]}"
