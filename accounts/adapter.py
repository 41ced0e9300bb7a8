"""What this site does differently from allauth's defaults."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django import forms
from django.http import HttpRequest
from django.utils.translation import get_language, override

from accounts.models import User


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
            super().send_mail(template_prefix, email, context)
