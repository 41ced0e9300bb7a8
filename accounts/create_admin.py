"""Verb: make sure there is an administrator."""

from django.db import transaction

from accounts.addresses import verify_address
from accounts.models import User


@transaction.atomic
def create_admin(email: str, password: str) -> User:
    """Return the administrator with this address, made or promoted, with this password.

    Their address counts as verified. Safe to run twice.
    """
    user = User.objects.filter(email__iexact=email).first()
    if user is None:
        return User.objects.create_superuser(email, password)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_password(password)
    user.save(update_fields=["is_staff", "is_superuser", "is_active", "password"])
    verify_address(user)
    return user
