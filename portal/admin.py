"""The queue of applications: all of one on one page, decided by the verbs, else unchanged."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import AuditEvent, User
from portal.decisions import DECISIONS, Decision, decide, open_to
from portal.models import ENDED, Attempt, Coordinator, CoordinatorQuerySet
from portal.panel.own import REFUSALS, why_not
from portal.verification.codes import explained
from portal.verification.request import request_check

HISTORY_ROWS = EVIDENCE_ROWS = 50
CHECK = "check_address"


class ReadOnly(admin.options.BaseModelAdmin):
    """Rows that verbs alone write."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Coordinator)
class CoordinatorAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ("name", "state", "proof", "presence", "operator", "address", "submitted_at")
    list_filter = ("state", "proof", "presence", "mode")
    show_facets = admin.ShowFacets.ALWAYS
    list_select_related = ("operator",)
    ordering = ("-submitted_at", "-id")
    date_hierarchy = "submitted_at"
    search_fields = ("name", "slug", "address", "operator__email")
    change_form_template = "portal/admin/coordinator.html"
    fieldsets = (
        (None, {"fields": ("state", "message", "operator", "contact")}),
        (_("Application"), {"fields": (
            "name", "slug", "description", "base_model", "mode", "languages", "data_source",
            "data_licence", "hardware",
        )}),
        (_("Address"), {"fields": (
            "address", "proof", "verified_at", "failing_since", "next_check_at",
        )}),
        (_("Presence"), {"fields": (
            "presence", "heartbeat_at", "run_status", "round", "rounds", "workers", "loss",
            "software",
        )}),
        (_("Dates"), {"fields": ("created_at", "submitted_at", "approved_at", "approved_by")}),
    )  # fmt: skip

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("portal.change_coordinator")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        if not self.has_decide_permission(request):
            return {}
        decisions = {
            name: (_confirm_then_decide(decision), name, decision.title)
            for name, decision in DECISIONS.items()
        }
        return decisions | {CHECK: (_check_now, CHECK, _("Check the address now"))}

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        coordinator = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if coordinator is not None:
            context |= {"history": _history(coordinator), "attempts": _evidence(coordinator)}
            if self.has_decide_permission(request):
                context["decisions"] = open_to(coordinator)
                context["can_check"] = CHECK if coordinator.state not in ENDED else ""
        return super().change_view(request, object_id, form_url, context)


def _history(coordinator: Coordinator) -> Any:
    events = AuditEvent.objects.filter(target=f"coordinator:{coordinator.slug}")
    return events.select_related("actor")[:HISTORY_ROWS]


def _evidence(coordinator: Coordinator) -> Any:
    newest = coordinator.attempts.order_by("-queued_at", "-id")[:EVIDENCE_ROWS]
    return [(attempt, explained(attempt.code)) for attempt in newest]


def _check_now(
    model_admin: CoordinatorAdmin, request: HttpRequest, queryset: CoordinatorQuerySet
) -> HttpResponse | None:
    """An action that only looks, and so asks for no confirmation."""
    assert isinstance(request.user, User)
    for coordinator in queryset:
        try:
            request_check(coordinator, request.user, Attempt.Trigger.ADMIN)
        except REFUSALS as error:
            model_admin.message_user(request, f"{coordinator}: {why_not(error)}", messages.ERROR)
        else:
            looking = gettext("We are looking. Reload this page in some seconds.")
            model_admin.message_user(request, f"{coordinator}: {looking}")
    if len(queryset) != 1:
        return None
    return redirect("admin:portal_coordinator_change", queryset[0].pk)


def _confirm_then_decide(decision: Decision) -> Any:
    """An action that shows what is about to happen, and does it when that is confirmed."""

    def action(
        model_admin: CoordinatorAdmin, request: HttpRequest, queryset: CoordinatorQuerySet
    ) -> HttpResponse | None:
        if "confirmed" not in request.POST:
            return _confirmation(model_admin, request, queryset, decision)
        for coordinator in queryset:
            _decide_one(model_admin, request, coordinator, decision)
        return None

    return action


def _confirmation(
    model_admin: CoordinatorAdmin,
    request: HttpRequest,
    queryset: CoordinatorQuerySet,
    decision: Decision,
) -> HttpResponse:
    context = model_admin.admin_site.each_context(request) | {
        "title": decision.title,
        "opts": model_admin.opts,
        "decision": decision,
        "chosen": [(it, _revision(request, it)) for it in queryset],
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "portal/admin/decide.html", context)


def _decide_one(
    model_admin: CoordinatorAdmin,
    request: HttpRequest,
    coordinator: Coordinator,
    decision: Decision,
) -> None:
    assert isinstance(request.user, User)
    message, revision = request.POST.get("message", ""), _revision(request, coordinator)
    problem = decide(decision, coordinator, request.user, message, revision)
    if problem:
        model_admin.message_user(request, f"{coordinator}: {problem}", messages.ERROR)
    else:
        done = f"{coordinator}: {coordinator.get_state_display()}"
        model_admin.message_user(request, done, messages.SUCCESS)


def _revision(request: HttpRequest, coordinator: Coordinator) -> int:
    """The revision that the admin has looked at: the page tells it, a fresh list is its own."""
    told = request.POST.get(f"revision-{coordinator.pk}", "")
    return int(told) if told.isascii() and told.isdigit() else coordinator.revision
