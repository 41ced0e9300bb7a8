"""What came back, and what other workers found when they repeated it."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from coordination.models.run import SHA256_LENGTH
from coordination.models.work import Lease, Unit


class Result(models.Model):
    """A verdict on one file of one lease. Kept, so that the same bytes get the same answer."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        MERGED = "merged", _("merged")
        SCREENED = "screened", _("screened out")
        UNVERIFIED = "unverified", _("not verified in time")
        REFUSED = "refused", _("refused")
        USED = "used", _("used to judge another")

    lease = models.ForeignKey(Lease, models.CASCADE, verbose_name=_("lease"))
    unit = models.ForeignKey(Unit, models.CASCADE, verbose_name=_("unit"))
    sha256 = models.CharField(_("SHA-256"), max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField(_("size, in bytes"))
    state = models.CharField(_("state"), max_length=10, choices=State)
    code = models.CharField(_("code"), max_length=40, blank=True)
    detail = models.CharField(_("detail"), max_length=500, blank=True)
    holds_unit = models.BooleanField(
        _("counts for its unit"),
        default=False,
        help_text=_("Whether this is the result that its unit counts."),
    )
    vector_sha256 = models.CharField(
        _("digest of the weights"),
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("Raw weights in manifest order."),
    )
    update_norm = models.FloatField(_("norm of the update"), null=True, blank=True)
    sketch = models.BinaryField(
        _("sketch"), null=True, help_text=_("Of the update, until its round is published.")
    )
    weight = models.FloatField(
        _("weight"), null=True, blank=True, help_text=_("How much of the update was merged.")
    )
    loss_first = models.FloatField(_("loss of the first step"), null=True, blank=True)
    loss_last = models.FloatField(_("loss of the last step"), null=True, blank=True)
    loss = models.FloatField(
        _("loss"), null=True, blank=True, help_text=_("Mean over the task's steps.")
    )
    tokens = models.PositiveBigIntegerField(_("tokens"), null=True, blank=True)
    train_seconds = models.FloatField(_("seconds of training"), null=True, blank=True)
    device = models.CharField(_("device"), max_length=100, blank=True)
    dtype = models.CharField(_("number type"), max_length=40, blank=True)
    worker_version = models.CharField(
        _("version of the worker's program"), max_length=40, blank=True
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

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
    """Whether one result could be repeated, or has the losses it should; with the evidence.

    While it is pending its result is held out of the merge. A result without a check is one of a
    proven worker that the draw passed over.
    """

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        VALID = "valid", _("valid")
        INVALID = "invalid", _("invalid")
        PLAUSIBLE = "plausible", _("plausible by its losses")
        IMPLAUSIBLE = "implausible", _("implausible by its losses")
        UNDECIDED = "undecided", _("the repetitions differ")
        LATE = "late", _("not verified in time")
        WAIVED = "waived", _("nobody could verify it")

    class Reason(models.TextChoices):
        UNPROVEN = "unproven", _("the worker is unproven")
        DRAWN = "drawn", _("drawn by lot")

    result = models.OneToOneField(
        Result, models.CASCADE, related_name="verification", verbose_name=_("result")
    )
    state = models.CharField(_("state"), max_length=12, choices=State, default=State.PENDING)
    reason = models.CharField(_("reason"), max_length=10, choices=Reason)
    evidence = models.JSONField(
        _("evidence"),
        default=list,
        blank=True,
        help_text=_("Per repetition: who made it how, how far it lies from what, the tolerance."),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = _("check")
        verbose_name_plural = _("checks")

    def __str__(self) -> str:
        return f"{self.result}: {self.get_state_display()}"
