"""Pages about the address, the heartbeats, and what was done."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import AuditEvent
from portal.directory.sparkline import sparkline
from portal.heartbeats.uptime import uptime_90
from portal.models import Attempt, Coordinator
from portal.panel.own import REFUSALS, operator_of, own_coordinator, why_not
from portal.verification import challenge
from portal.verification.codes import explained
from portal.verification.request import request_check

EVIDENCE_ROWS = 20
HISTORY_ROWS = 100


@login_required
@require_safe
def verification(request: HttpRequest, slug: str) -> HttpResponse:
    """How to prove the address, and what every look at it found."""
    coordinator = own_coordinator(request, slug)
    attempts = list(coordinator.attempts.order_by("-queued_at", "-id")[:EVIDENCE_ROWS])
    context = _challenge(coordinator) | {
        "coordinator": coordinator,
        "attempts": [(attempt, explained(attempt.code)) for attempt in attempts],
        "is_running": bool(attempts) and attempts[0].finished_at is None,
    }
    return render(request, "portal/panel/verification.html", context)


@login_required
@require_POST
def check_now(request: HttpRequest, slug: str) -> HttpResponse:
    coordinator = own_coordinator(request, slug)
    try:
        request_check(coordinator, operator_of(request), Attempt.Trigger.OWNER)
        messages.info(request, _("We are looking. Reload this page in some seconds."))
    except REFUSALS as error:
        messages.error(request, why_not(error))
    return redirect("portal:panel-verification", slug)


@login_required
@require_safe
def heartbeats(request: HttpRequest, slug: str) -> HttpResponse:
    coordinator = own_coordinator(request, slug)
    uptime = uptime_90(coordinator)
    context = {
        "coordinator": coordinator,
        "curve": sparkline(coordinator),
        "uptime": None if uptime is None else 100 * uptime,
        "portal_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "portal/panel/heartbeats.html", context)


@login_required
@require_safe
def history(request: HttpRequest, slug: str) -> HttpResponse:
    """Who did what; of others than the operator only that they are not."""
    coordinator = own_coordinator(request, slug)
    events = AuditEvent.objects.filter(target=f"coordinator:{coordinator.slug}")
    context = {"coordinator": coordinator, "events": events[:HISTORY_ROWS]}
    return render(request, "portal/panel/history.html", context)


def _challenge(coordinator: Coordinator) -> dict[str, object]:
    """The line, where it has to be, and commands; nothing for an address against the rules."""
    try:
        return {
            "line": challenge.line(coordinator),
            "url": challenge.url(coordinator),
            "commands": challenge.commands(coordinator),
        }
    except ValidationError as error:
        return {"address_problem": " ".join(error.messages)}
