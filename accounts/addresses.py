"""Verb: take an e-mail address as verified."""

from allauth.account.models import EmailAddress

from accounts.models import User


def verify_address(user: User) -> None:
    """Make the user's own address their verified and only primary one.

    For accounts that somebody with a shell on the server makes: they could read the mail anyhow.
    """
    EmailAddress.objects.filter(user=user, primary=True).exclude(email=user.email.lower()).update(
        primary=False
    )
    EmailAddress.objects.update_or_create(
        user=user, email=user.email.lower(), defaults={"verified": True, "primary": True}
    )
