"""Verb: mail a person in their language."""

from typing import Any

from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import override

from accounts.models import User


def send(user: User | None, template: str, **context: Any) -> None:
    """Send ``templates/mail/TEMPLATE.txt`` once the transaction is committed.

    The template's first line is the subject. Nobody to mail (a deleted account) is no error,
    nor is a mail server that does not answer: it is logged by Django and the deed stands.
    """
    if user is None or not user.is_active:
        return
    with override(user.language):
        text = render_to_string(f"mail/{template}.txt", {"user": user, **context})
    subject, _, body = text.strip().partition("\n")
    message = EmailMessage(subject.strip(), body.strip() + "\n", to=[user.email])
    transaction.on_commit(message.send, robust=True)
