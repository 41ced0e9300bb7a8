"""Who signs in: a user whose login is an e-mail address."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
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
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Save a new user who may do everything."""
        return self.create_user(
            email, password, **{**fields, "is_staff": True, "is_superuser": True}
        )

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find the user signing in; case does not matter."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=120, blank=True)
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

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.name or self.email
