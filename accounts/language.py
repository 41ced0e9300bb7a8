"""View: choose a language, for this browser and, signed in, for the account's mails."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import check_for_language
from django.views.i18n import set_language as set_browser_language

from accounts.models import User


def set_language(request: HttpRequest) -> HttpResponse:
    """Django's own view, and the choice is kept with the signed-in user."""
    code = request.POST.get("language", "")
    if code in dict(settings.LANGUAGES) and check_for_language(code) and request.user.pk:
        User.objects.filter(pk=request.user.pk).update(language=code)
    return set_browser_language(request)
