"""Verb: delete an account, with everything that is personal."""

from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.db import transaction

from accounts import mail
from accounts.audit import record
from accounts.forget import forget_person
from accounts.models import User
from accounts.signals import account_deleting


class LastAdmin(Exception):
    """Nobody could administer the site without this account."""


@transaction.atomic
def delete_account(user: User) -> None:
    """Delete ``user``, their keys, sessions and second factors; their coordinators are withdrawn.

    Audit rows stay, without an actor and from where they came. A last mail says that it is done.

    Raises:
        LastAdmin: make somebody else an administrator first.
    """
    # All of them are locked, so that two who leave at once do not both rely on the other.
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    admins = admins.order_by("pk")
    if {admin.pk for admin in admins} == {user.pk}:
        raise LastAdmin
    mail.send(user, "account_deleted")
    account_deleting.send(sender=User, user=user)
    record("delete", f"user:{user.pk}")
    forget_person(user)
    # What the administration wrote down of its own deeds names people by their address.
    LogEntry.objects.filter(object_repr__icontains=user.email).update(object_repr="")
    for session in UserSession.objects.filter(user=user):
        session.end()
    user.delete()
