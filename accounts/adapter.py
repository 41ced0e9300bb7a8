"""What this site does differently from allauth's defaults."""

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django import forms
from django.http import HttpRequest
from django.utils.translation import get_language, override

from accounts.models import User

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    def save_user(
        self, request: HttpRequest, user: User, form: forms.Form, commit: bool = True
    ) -> User:
        """A new user's language is the one in which they signed up."""
        user.language = get_language() or user.language
        return super().save_user(request, user, form, commit)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Mail goes out in its reader's language, which need not be the page's."""
        user = context.get("user")
        with override(user.language if isinstance(user, User) else get_language()):
            try:
                super().send_mail(template_prefix, email, context)
            except OSError:
                # What the mail is about has happened; a link can be asked for again.
                logger.exception("could not send %s", template_prefix)

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
