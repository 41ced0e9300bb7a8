"""What this site does differently from allauth's defaults."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django import forms
from django.contrib.sites.shortcuts import get_current_site
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.utils.translation import get_language, override

from accounts.models import User

logger = logging.getLogger(__name__)


# One at a time; how many wait is bounded by the limits of what sends them.
DELIVERIES = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")
FOR_KNOWN_ADDRESSES = ("account/email/password_reset_key",)


class AccountAdapter(DefaultAccountAdapter):
    def save_user(
        self, request: HttpRequest, user: User, form: forms.Form, commit: bool = True
    ) -> User:
        """A new user's language is the one in which they signed up."""
        user.language = get_language() or user.language
        return super().save_user(request, user, form, commit)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Mail goes out in its reader's language, which need not be the page's.

        Where there is mail for known addresses only, it goes out beside the answer: the time that a
        mail server takes would tell who has an account.
        """
        user = context.get("user")
        site = get_current_site(self.request)
        told = {"request": self.request, "email": email, "current_site": site, **context}
        with override(user.language if isinstance(user, User) else get_language()):
            message = self.render_mail(template_prefix, email, told)
        if template_prefix in FOR_KNOWN_ADDRESSES:
            DELIVERIES.submit(_deliver, message, template_prefix)
        else:
            _deliver(message, template_prefix)

    def send_notification_mail(
        self,
        template_prefix: str,
        user: User,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """The same with the user in the context, for ``send_mail`` to know the language."""
        context = {**(context or {}), "user": user}
        super().send_notification_mail(template_prefix, user, context, email)


def _deliver(message: EmailMessage, what: str) -> None:
    """What the mail is about has happened, and a link can be asked for again: failing is logged."""
    try:
        message.send()
    except OSError:
        logger.exception("could not send %s", what)
