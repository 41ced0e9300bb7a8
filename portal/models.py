"""Coordinators as the public knows them: who runs one, where, whether that is proven, how it is.

Three things about a coordinator move independently, each by verbs of its own: the listing
(``portal.listings``), the proof of its address (``portal.verification``), and its presence
(``portal.heartbeats``).
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from portal.verification.address import canonical

MAX_ROUND = 10**6 + 1
LANGUAGE_LIST = RegexValidator(
    r"^([a-z]{2,3})(,[a-z]{2,3}){0,19}$", _("Write language codes like tr,en,de.")
)


class State(models.TextChoices):
    DRAFT = "draft", _("draft")
    SUBMITTED = "submitted", _("submitted")
    CHANGES_REQUESTED = "changes_requested", _("changes requested")
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    SUSPENDED = "suspended", _("suspended")
    WITHDRAWN = "withdrawn", _("withdrawn")


ENDED = (State.REJECTED, State.WITHDRAWN)


class Proof(models.TextChoices):
    """Whether the address is known to be the operator's."""

    UNVERIFIED = "unverified", _("unverified")
    VERIFIED = "verified", _("verified")
    STALE = "stale", _("verification stale")


class Presence(models.TextChoices):
    NEVER = "never", _("never heard from")
    ONLINE = "online", _("online")
    LATE = "late", _("late")
    OFFLINE = "offline", _("offline")


class Mode(models.TextChoices):
    CPT = "cpt", _("continued pretraining")
    SFT = "sft", _("instruction tuning")
    SCRATCH = "scratch", _("from scratch")


class RunStatus(models.TextChoices):
    """A run's state as a heartbeat tells it; the values are the protocol's."""

    READY = "hazir", _("ready")
    OPEN = "acik", _("open")
    MERGING = "birlestiriliyor", _("merging")
    PAUSED = "duraklatildi", _("paused")
    FINISHED = "bitti", _("finished")


class CoordinatorQuerySet(models.QuerySet["Coordinator"]):
    def listed(self) -> "CoordinatorQuerySet":
        """Those in the public directory: approved, with an address that is proven (or was)."""
        return self.filter(listed=1)


class Coordinator(models.Model):
    # What the operator says of it
    operator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="coordinators",
        verbose_name=_("operator"),
    )
    name = models.CharField(_("name"), max_length=120)
    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    address = models.CharField(
        _("address"), max_length=300, help_text=_("What volunteers give their program.")
    )
    description = models.TextField(_("description"), max_length=2000, blank=True)
    base_model = models.CharField(_("base model"), max_length=200, blank=True)
    mode = models.CharField(_("what is trained"), max_length=10, choices=Mode, default=Mode.CPT)
    languages = models.CharField(
        _("languages"), max_length=80, blank=True, validators=[LANGUAGE_LIST]
    )
    data_source = models.TextField(_("source of the data"), max_length=2000, blank=True)
    data_licence = models.CharField(_("licence of the data"), max_length=300, blank=True)
    contact = models.CharField(_("contact"), max_length=300, blank=True)
    hardware = models.CharField(_("hardware a volunteer needs"), max_length=300, blank=True)
    # What the directory sorts by and searches: see portal/directory/fold.py
    sort_name = models.CharField(max_length=120, default="", editable=False)
    search_text = models.TextField(default="", editable=False)

    # The listing
    state = models.CharField(
        _("state"), max_length=20, choices=State, default=State.DRAFT, editable=False
    )
    revision = models.PositiveIntegerField(
        _("revision"),
        default=0,
        editable=False,
        help_text=_("Rises with every change; a decision names the one it was made on."),
    )
    message = models.TextField(
        _("message"), max_length=2000, blank=True, editable=False, help_text=_("From the admin.")
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    submitted_at = models.DateTimeField(_("submitted"), null=True, editable=False)
    approved_at = models.DateTimeField(_("approved"), null=True, editable=False)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("approved by"),
    )

    # The proof of its address
    proof = models.CharField(
        _("proof of the address"),
        max_length=12,
        choices=Proof,
        default=Proof.UNVERIFIED,
        editable=False,
    )
    proof_token = models.CharField(max_length=64, unique=True, editable=False)
    verified_at = models.DateTimeField(_("verified"), null=True, editable=False)
    next_check_at = models.DateTimeField(_("next check"), null=True, editable=False)
    failing_since = models.DateTimeField(_("failing since"), null=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)

    # What its heartbeats say
    presence = models.CharField(
        _("presence"), max_length=10, choices=Presence, default=Presence.NEVER, editable=False
    )
    heartbeat_seq = models.PositiveBigIntegerField(default=0, editable=False)
    heartbeat_at = models.DateTimeField(_("last heartbeat"), null=True, editable=False)
    first_heartbeat_at = models.DateTimeField(null=True, editable=False)
    run_status = models.CharField(
        _("run"), max_length=20, choices=RunStatus, blank=True, editable=False
    )
    round = models.PositiveIntegerField(_("round"), null=True, editable=False)
    rounds = models.PositiveIntegerField(_("rounds"), null=True, editable=False)
    workers = models.PositiveIntegerField(_("workers"), null=True, editable=False)
    loss = models.FloatField(_("loss"), null=True, editable=False)
    software = models.CharField(_("software"), max_length=80, blank=True, editable=False)

    # A number and no truth value, since SQLite uses an index for comparisons only.
    listed = models.GeneratedField(
        expression=models.Case(
            models.When(models.Q(state=State.APPROVED) & ~models.Q(proof=Proof.UNVERIFIED), then=1),
            default=0,
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )

    objects = CoordinatorQuerySet.as_manager()

    class Meta:
        verbose_name = _("coordinator")
        verbose_name_plural = _("coordinators")
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=["listed", "-approved_at", "-id"], name="portal_newest"),
            models.Index(fields=["listed", "sort_name", "id"], name="portal_by_name"),
            models.Index(fields=["listed", "-workers", "-id"], name="portal_most_workers"),
            models.Index(fields=["listed", "-heartbeat_at", "-id"], name="portal_last_heard"),
            models.Index(fields=["next_check_at"], name="portal_next_check"),
            models.Index(fields=["presence", "heartbeat_at"], name="portal_presence"),
        )
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=State.values), name="portal_coordinator_state_known"
            ),
            models.UniqueConstraint(
                fields=["address"],
                condition=~models.Q(state__in=[State.DRAFT, *ENDED]),
                name="portal_address_taken_once",
                violation_error_message=_("Another coordinator has this address already."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("portal:coordinator", args=[self.slug])

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Also raises ValidationError for an address against the rules; else gives it one spelling.

        Not in ``clean``, whose errors a form without the address could not show.
        """
        errors: dict[str, Any] = {}
        try:
            super().clean_fields(exclude)
        except ValidationError as error:
            errors = error.update_error_dict(errors)
        if "address" not in {*(exclude or ()), *errors}:
            try:
                self.address = canonical(self.address)
            except ValidationError as error:
                errors["address"] = [error]
        if errors:
            raise ValidationError(errors)

    @property
    def language_codes(self) -> list[str]:
        return [code for code in self.languages.split(",") if code]

    @property
    def demand(self) -> str:
        """The admin's words, as long as something is to be done about them."""
        demanding = (State.CHANGES_REQUESTED, State.REJECTED, State.SUSPENDED)
        return self.message if self.state in demanding else ""

    @property
    def is_listed(self) -> bool:
        return self.state == State.APPROVED and self.proof != Proof.UNVERIFIED


class Attempt(models.Model):
    """One look at a coordinator's ``.well-known`` file: the evidence, kept."""

    class Trigger(models.TextChoices):
        OWNER = "owner", _("asked for by the operator")
        ADMIN = "admin", _("asked for by an admin")
        SCHEDULE = "schedule", _("on schedule")

    coordinator = models.ForeignKey(Coordinator, models.CASCADE, related_name="attempts")
    trigger = models.CharField(max_length=10, choices=Trigger)
    address = models.CharField(max_length=300)
    queued_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    code = models.CharField(
        max_length=40, blank=True, help_text=_("Empty while it runs, ok, or what went wrong.")
    )
    hops = models.JSONField(
        default=list, help_text=_("Per request: URL, addresses found, address used, status.")
    )
    received_bytes = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name = _("verification attempt")
        verbose_name_plural = _("verification attempts")
        ordering = ("-queued_at", "-id")
        indexes = (
            models.Index(fields=["queued_at"], name="portal_attempt_queued"),
            models.Index(
                fields=["queued_at"],
                condition=models.Q(finished_at=None),
                name="portal_attempt_unfinished",
            ),
        )

    def __str__(self) -> str:
        return f"{self.coordinator} {self.queued_at:%Y-%m-%d %H:%M} {self.code or '...'}"


class LossPoint(models.Model):
    """The loss a coordinator told of one round."""

    coordinator = models.ForeignKey(Coordinator, models.CASCADE, related_name="loss_points")
    round = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MAX_ROUND)]
    )
    loss = models.FloatField()
    told_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("coordinator", "round")
        constraints = (
            models.UniqueConstraint(fields=["coordinator", "round"], name="one_loss_per_round"),
        )

    def __str__(self) -> str:
        return f"{self.coordinator} r{self.round}: {self.loss}"


class UptimeDay(models.Model):
    """How long a coordinator was heard from on one day (UTC)."""

    coordinator = models.ForeignKey(Coordinator, models.CASCADE, related_name="uptime_days")
    day = models.DateField()
    online = models.DurationField(default=timedelta)

    class Meta:
        ordering = ("coordinator", "day")
        constraints = (
            models.UniqueConstraint(fields=["coordinator", "day"], name="one_row_a_day"),
        )

    def __str__(self) -> str:
        return f"{self.coordinator} {self.day}: {self.online}"
