"""Who signs in, what they did, and the keys that act for them."""

from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models, transaction
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Save a new user; without a password nobody can sign in as them.

        Raises:
            ValueError: no e-mail address.
        """
        if not email:
            raise ValueError("a user needs an e-mail address")
        user = self.model(email=email.lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Save a new user who may do everything, their address verified."""
        # Here, since its models refer to this one.
        from accounts.addresses import verify_address

        fields |= {"is_staff": True, "is_superuser": True}
        with transaction.atomic(using=self._db):
            user = self.create_user(email, password, **fields)
            verify_address(user)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find the user signing in; case does not matter."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=120, blank=True)
    language = models.CharField(
        _("language"),
        max_length=5,
        choices=settings.LANGUAGES,
        default="en",
        help_text=_("Of the mails we send you."),
    )
    mails_presence = models.BooleanField(
        _("mail me when a coordinator goes offline or returns"), default=True
    )
    mails_verification = models.BooleanField(
        _("mail me when an address can no longer be verified"), default=True
    )
    is_staff = models.BooleanField(
        _("staff"), default=False, help_text=_("May sign in to the administration.")
    )
    is_active = models.BooleanField(
        _("active"), default=True, help_text=_("Untick this instead of deleting an account.")
    )
    date_joined = models.DateTimeField(_("joined"), default=timezone.now, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    EMAIL_FIELD = "email"
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                name="accounts_user_email_unique",
                violation_error_message=_("There is an account with this e-mail address already."),
            )
        ]

    def __str__(self) -> str:
        return self.email

    def clean(self) -> None:
        """Addresses are kept in lower case, as allauth looks for them."""
        super().clean()
        self.email = self.email.lower()

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.name or self.email


class AuditEvent(models.Model):
    """Something somebody did; rows are only ever added. They outlive accounts without their data:
    the actor becomes null, IP and user agent are emptied (as they are after some months), and
    ``detail`` never holds an address, a mail or a secret."""

    at = models.DateTimeField(_("at"), default=timezone.now, editable=False)
    actor = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", verbose_name=_("actor")
    )
    verb = models.CharField(_("verb"), max_length=60)
    target = models.CharField(
        _("target"), max_length=120, help_text="coordinator:slug, key:id, user:id"
    )
    detail = models.JSONField(_("detail"), default=dict)
    ip = models.GenericIPAddressField(_("IP address"), null=True)
    user_agent = models.CharField(_("user agent"), max_length=200, blank=True)
    request_id = models.CharField(
        _("request"), max_length=32, blank=True, help_text=_("Stands in the log's lines as well.")
    )

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        ordering = ("-at", "-id")
        indexes = (models.Index(fields=["target", "-at"], name="accounts_audit_target"),)

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"


class ApiKey(models.Model):
    """A key for the Portal API; only its SHA-256 is kept."""

    owner = models.ForeignKey(
        User, models.CASCADE, related_name="api_keys", verbose_name=_("owner")
    )
    coordinator = models.ForeignKey(
        "portal.Coordinator",
        models.CASCADE,
        null=True,
        related_name="api_keys",
        verbose_name=_("coordinator"),
        help_text=_("Empty: all coordinators of its owner."),
    )
    key_id = models.CharField(
        _("public part"), max_length=8, unique=True, help_text=_("Public: its first characters.")
    )
    digest = models.CharField(max_length=64)
    name = models.CharField(_("name"), max_length=80)
    scopes = models.JSONField(_("scopes"), default=list)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(_("expires"))
    warned_days = models.PositiveIntegerField(
        _("warned of its end"), null=True, help_text=_("Last warning, days before.")
    )
    last_used_at = models.DateTimeField(_("last used"), null=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True)
    replaced_by = models.OneToOneField(
        "self", models.SET_NULL, null=True, related_name="replaces", verbose_name=_("replaced by")
    )

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return f"{self.name} (mdl_{self.key_id}…)"

    @property
    def is_live(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > timezone.now()
