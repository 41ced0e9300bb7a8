"""Pages about API keys. A secret stands in one answer, which nothing may keep."""

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.keys.create import create_key
from accounts.keys.revoke import revoke_key
from accounts.keys.rotate import rotate_key
from accounts.models import ApiKey
from portal.panel.forms import KeyForm, RotationForm
from portal.panel.listings import get_or_post
from portal.panel.own import REFUSALS, operator_of, why_not


@login_required
@require_safe
def keys(request: HttpRequest) -> HttpResponse:
    own = ApiKey.objects.filter(owner=operator_of(request)).select_related("coordinator")
    return render(request, "portal/panel/keys.html", {"keys": own})


@get_or_post
@reauthentication_required
@never_cache
def new_key(request: HttpRequest) -> HttpResponse:
    owner = operator_of(request)
    form = KeyForm(request.POST or None, owner=owner)
    if form.is_valid():
        try:
            key, secret = create_key(owner, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        except REFUSALS as error:
            form.add_error(None, why_not(error))
        else:
            return _show_once(request, key, secret)
    context = {"form": form, "title": _("New API key"), "action": _("Create the key")}
    return render(request, "portal/panel/key_form.html", context)


@get_or_post
@reauthentication_required
@never_cache
def rotate(request: HttpRequest, key_id: str) -> HttpResponse:
    """A new key in place of one that goes on for a while."""
    key = _own_key(request, key_id)
    form = RotationForm(request.POST or None)
    if form.is_valid():
        try:
            new, secret = rotate_key(key, operator_of(request), **form.cleaned_data)
        except REFUSALS as error:
            form.add_error(None, why_not(error))
        else:
            return _show_once(request, new, secret)
    context = {"form": form, "title": _("Replace the key"), "action": _("Replace it"), "key": key}
    return render(request, "portal/panel/key_form.html", context)


@get_or_post
@reauthentication_required
@never_cache
def revoke(request: HttpRequest, key_id: str) -> HttpResponse:
    key = _own_key(request, key_id)
    if request.method != "POST":
        context = {"title": _("Revoke the key"), "action": _("Revoke it"), "key": key}
        return render(request, "portal/panel/key_form.html", context)
    try:
        revoke_key(key, operator_of(request))
        messages.success(request, _("The key is revoked."))
    except REFUSALS as error:
        messages.error(request, why_not(error))
    return redirect("portal:panel-keys")


def _own_key(request: HttpRequest, key_id: str) -> ApiKey:
    return get_object_or_404(ApiKey, key_id=key_id, owner=operator_of(request))


def _show_once(request: HttpRequest, key: ApiKey, secret: str) -> HttpResponse:
    return render(request, "portal/panel/key_made.html", {"key": key, "secret": secret})
