"""Coordinators as the public knows them."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class State(models.TextChoices):
    DRAFT = "draft", _("draft")
    SUBMITTED = "submitted", _("submitted")
    APPROVED = "approved", _("approved")


class CoordinatorQuerySet(models.QuerySet["Coordinator"]):
    def listed(self) -> "CoordinatorQuerySet":
        """Those in the public directory, in a stable order."""
        return self.filter(state=State.APPROVED).order_by("approved_at", "pk")


class Coordinator(models.Model):
    """One coordinator's listing; its state moves only through the verbs in ``portal.listings``."""

    operator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="coordinators",
        verbose_name=_("operator"),
    )
    name = models.CharField(_("name"), max_length=120)
    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    address = models.URLField(
        _("address"), unique=True, help_text=_("What volunteers give their program.")
    )
    description = models.TextField(_("description"), max_length=2000, blank=True)
    state = models.CharField(
        _("state"), max_length=20, choices=State, default=State.DRAFT, editable=False
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    submitted_at = models.DateTimeField(_("submitted"), null=True, editable=False)
    approved_at = models.DateTimeField(_("approved"), null=True, editable=False)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("approved by"),
    )

    objects = CoordinatorQuerySet.as_manager()

    class Meta:
        verbose_name = _("coordinator")
        verbose_name_plural = _("coordinators")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=State.values), name="portal_coordinator_state_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(state=State.APPROVED)
                | models.Q(approved_at__isnull=False, approved_by__isnull=False),
                name="portal_coordinator_approval_recorded",
            ),
        ]

    def __str__(self) -> str:
        return self.name
