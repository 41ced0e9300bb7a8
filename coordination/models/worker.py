"""Who works on a run, and what was decided about them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from coordination.models.run import SHA256_LENGTH, Run
from coordination.trust.policy import Quota, Standing


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

    run = models.ForeignKey(Run, models.CASCADE, verbose_name=_("run"))
    name = models.CharField(_("name"), max_length=32)
    token_digest = models.CharField(_("digest of the token"), max_length=SHA256_LENGTH, blank=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.APPROVED)
    state_reason = models.CharField(_("reason of the state"), max_length=300, blank=True)
    is_listed = models.BooleanField(
        _("on the leaderboard"), default=True, help_text=_("The volunteer's own choice.")
    )
    device = models.JSONField(_("device"), default=dict, blank=True)
    sequence = models.PositiveBigIntegerField(
        _("sequence number"),
        null=True,
        blank=True,
        help_text=_("Highest number of a lease request so far."),
    )
    sequence_request = models.CharField(
        _("digest of that request"), max_length=SHA256_LENGTH, blank=True
    )
    copies_seen = models.PositiveIntegerField(
        _("copies seen"),
        default=0,
        help_text=_("Lease requests from a copy of the worker's state folder."),
    )
    copy_seen_at = models.DateTimeField(_("copy last seen"), null=True, blank=True)
    verifies = models.BooleanField(
        _("verifies"),
        default=False,
        help_text=_("Offered to check others' results when last heard from."),
    )
    evaluates = models.BooleanField(
        _("evaluates"),
        default=False,
        help_text=_("Offered to measure losses when last heard from."),
    )
    may_see_text = models.BooleanField(
        _("may see text"),
        default=False,
        help_text=_("An admin lets it prepare raw text, which is sent to it for that."),
    )
    address = models.GenericIPAddressField(_("address"), null=True, blank=True)
    consecutive_valid = models.PositiveIntegerField(
        _("valid in a row"),
        default=0,
        help_text=_("Results in a row that were checked and found right."),
    )
    checks_valid = models.PositiveIntegerField(_("found valid"), default=0)
    checks_invalid = models.PositiveIntegerField(_("found invalid"), default=0)
    quota = models.PositiveIntegerField(
        _("hourly quota"),
        default=Quota().full,
        help_text=_("Tasks an hour; halves with an error, doubles with an accepted result."),
    )
    task_seconds = models.FloatField(
        _("seconds per task"),
        null=True,
        blank=True,
        help_text=_("From lease to result, a moving average."),
    )
    first_seen_at = models.DateTimeField(_("first seen"), auto_now_add=True)
    registered_at = models.DateTimeField(_("registered"), null=True, blank=True)
    last_seen_at = models.DateTimeField(
        _("last seen"), null=True, blank=True, help_text=_("Empty until it asks for work.")
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

    @property
    def is_shown_text(self) -> bool:
        """Whether raw text may be sent to it now."""
        welcome = self.is_registered and self.state == self.State.APPROVED
        return welcome and self.may_see_text


class WorkerEvent(models.Model):
    """Something that changed what a worker may do, and who decided it. Only ever added."""

    class Verb(models.TextChoices):
        REGISTERED = "registered", _("registered")
        APPROVED = "approved", _("approved")
        PAUSED = "paused", _("paused")
        BLOCKED = "blocked", _("blocked")
        UNBLOCKED = "unblocked", _("let in again")
        TEXT_SHOWN = "text_shown", _("allowed to see text")
        TEXT_HID = "text_hid", _("no longer allowed to see text")

    worker = models.ForeignKey(
        Worker, models.CASCADE, related_name="events", verbose_name=_("worker")
    )
    at = models.DateTimeField(_("time"))
    verb = models.CharField(_("what happened"), max_length=10, choices=Verb)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text=_("Empty: the worker itself, or a command on the server."),
        verbose_name=_("decided by"),
    )

    class Meta:
        ordering = ["-at", "-pk"]
        verbose_name = _("worker event")
        verbose_name_plural = _("worker events")

    def __str__(self) -> str:
        return f"{self.worker} {self.verb}"
