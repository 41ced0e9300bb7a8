"""The directory's public pages. All of them are complete without JavaScript."""

import hashlib
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import (
    get_conditional_response,
    patch_cache_control,
    patch_vary_headers,
)
from django.utils.translation import get_language, override
from django.views.decorators.http import require_safe

from portal.directory import badge as badges
from portal.directory.find import SORTS, Wanted, choices, find
from portal.directory.sight import PER_PAGE, Sight, look
from portal.directory.sparkline import sparkline
from portal.directory.status import public_status
from portal.heartbeats.uptime import uptime_90
from portal.models import Coordinator, Mode, Presence

MAX_PAGE = 1000
# The columns of a card; the long ones are left where they are.
SHOWN = (
    "slug", "name", "description", "base_model", "languages", "presence", "proof", "round",
    "rounds", "workers", "loss",
)  # fmt: skip


@require_safe
def directory(request: HttpRequest) -> HttpResponse:
    """The listed coordinators, filtered by the query string."""
    wanted = Wanted.read(request.GET)
    context = {
        "wanted": wanted,
        "page": _page(request, wanted),
        "presences": Presence.choices,
        "modes": Mode.choices,
        "choices": choices(),
        "sorts": [(name, title) for name, (title, _order) in SORTS.items()],
    }
    return render(request, "portal/directory.html", context)


@require_safe
def directory_part(request: HttpRequest) -> HttpResponse:
    """What may have changed on the cards that are shown, for the script that keeps them fresh."""
    return _conditional(request, JsonResponse(look(Sight.read(request.GET))))


@require_safe
def coordinator_page(request: HttpRequest, slug: str) -> HttpResponse:
    """One coordinator. What is not in the directory is shown to its operator alone, with why."""
    coordinator = get_object_or_404(Coordinator, slug=slug)
    is_own = coordinator.operator_id is not None and coordinator.operator_id == request.user.pk
    if not coordinator.is_listed and not is_own:
        raise Http404
    context = _now(coordinator) | {"is_own": is_own}
    response = render(request, "portal/coordinator.html", context)
    if not coordinator.is_listed:
        patch_cache_control(response, private=True, no_store=True)
    return response


@require_safe
def coordinator_part(request: HttpRequest, slug: str) -> HttpResponse:
    """What changes with heartbeats, alone."""
    return _fresh_part(request, "portal/now.html", _now(_listed(slug)))


@require_safe
def status_json(request: HttpRequest, slug: str) -> HttpResponse:
    return _tagged(request, public_status(_listed(slug)))


@require_safe
def badge_svg(request: HttpRequest, slug: str) -> HttpResponse:
    image = badges.as_svg(_badge(request, slug))
    response = HttpResponse(image, content_type="image/svg+xml")
    patch_cache_control(response, public=True, max_age=badges.CACHE_S)
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response


@require_safe
def shields_json(request: HttpRequest, slug: str) -> HttpResponse:
    return _tagged(request, badges.as_shields(_badge(request, slug)))


def _badge(request: HttpRequest, slug: str) -> badges.Badge:
    """In the language that whoever shows it asks for with ``?lang=``, else in the reader's."""
    wanted = request.GET.get("lang", "")
    with override(wanted if wanted in dict(settings.LANGUAGES) else get_language()):
        return badges.badge(_listed(slug))


def _listed(slug: str) -> Coordinator:
    return get_object_or_404(Coordinator.objects.listed(), slug=slug)


def _page(request: HttpRequest, wanted: Wanted) -> dict[str, Any]:
    """One page of what matches. How many match in all is not counted: that would read every row,
    whereas a page reads along an index until it is full."""
    asked = request.GET.get("page", "")
    number = min(int(asked), MAX_PAGE) if asked.isascii() and asked.isdigit() else 1
    start = PER_PAGE * (max(1, number) - 1)
    rows = list(find(wanted).only(*SHOWN)[start : start + PER_PAGE + 1])
    return {
        "coordinators": rows[:PER_PAGE],
        "shown": ",".join(row.slug for row in rows[:PER_PAGE]),
        "number": max(1, number),
        "previous": number - 1 if number > 1 else None,
        "next": number + 1 if len(rows) > PER_PAGE else None,
    }


def _now(coordinator: Coordinator) -> dict[str, Any]:
    uptime = uptime_90(coordinator)
    return {
        "coordinator": coordinator,
        "curve": sparkline(coordinator),
        "uptime": None if uptime is None else 100 * uptime,
    }


def _fresh_part(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    response = _conditional(request, render(request, template, context))
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response


def _tagged(request: HttpRequest, answer: dict[str, Any]) -> HttpResponse:
    """A public answer that other sites' pages may read."""
    response = _conditional(request, JsonResponse(answer))
    response["Access-Control-Allow-Origin"] = "*"
    return response


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Tag it, and leave the body out for whoever has it."""
    response["ETag"] = f'W/"{hashlib.sha256(response.content).hexdigest()[:24]}"'
    patch_cache_control(response, no_cache=True)
    known = get_conditional_response(request, etag=response["ETag"], response=response)
    assert isinstance(known, HttpResponse)
    return known
