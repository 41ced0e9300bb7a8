"""A person's own pages: settings, their data, and the end of their account."""

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.data import export_account
from accounts.delete import LastAdmin, delete_account
from accounts.forms import DeleteForm, SettingsForm
from accounts.models import User


def signed_in(request: HttpRequest) -> User:
    """The user of a page that demands one."""
    assert isinstance(request.user, User)
    return request.user


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings_page(request: HttpRequest) -> HttpResponse:
    """Name, language, and which mails to send."""
    form = SettingsForm(request.POST or None, instance=signed_in(request))
    if not form.is_valid():
        return render(request, "accounts/settings.html", {"form": form})
    user = form.save()
    with override(user.language):
        messages.success(request, _("Your settings are saved."))
    response = redirect("accounts:settings")
    response.set_cookie(settings.LANGUAGE_COOKIE_NAME, user.language, samesite="Lax")
    return response


@login_required
@require_GET
def data_page(request: HttpRequest) -> HttpResponse:
    """What is kept about a person, and where to get it."""
    return render(request, "accounts/data.html")


@require_GET
@reauthentication_required
@never_cache
def download(request: HttpRequest) -> HttpResponse:
    """All of it as one JSON file."""
    data = export_account(signed_in(request))
    response = JsonResponse(data, json_dumps_params={"ensure_ascii": False, "indent": 2})
    response["Content-Disposition"] = 'attachment; filename="modelen-account.json"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required
def delete_page(request: HttpRequest) -> HttpResponse:
    """Delete one's account, after proving once more who one is."""
    user = signed_in(request)
    form = DeleteForm(request.POST or None, user=user)
    if not form.is_valid():
        return render(request, "accounts/delete.html", {"form": form})
    try:
        delete_account(user)
    except LastAdmin:
        form.add_error(None, _("You are the only administrator. Make somebody else one first."))
        return render(request, "accounts/delete.html", {"form": form})
    logout(request)
    return render(request, "accounts/deleted.html")
