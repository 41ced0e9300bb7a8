"""Workers, and what is decided about them."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from coordination.admin.base import ReadOnlyAdmin, ReadOnlyInline, ReasonForm, in_one_piece
from coordination.models import Worker, WorkerEvent, WorkerTraffic
from coordination.templatetags.live import as_bytes
from coordination.workers.decisions import DECISIONS, Decision


class WorkerEventInline(ReadOnlyInline):
    """Who decided what about this worker, and why."""

    model = WorkerEvent
    fields = ("at", "verb", "reason", "actor")
    readonly_fields = fields


class Registered(admin.SimpleListFilter):
    """Workers with an owner, or names that anybody uses."""

    title = _("registered")
    parameter_name = "registered"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Yes")), ("no", _("No"))]

    def queryset(self, request: HttpRequest, workers: QuerySet[Worker]) -> QuerySet[Worker]:
        if self.value() == "yes":
            return workers.exclude(token_digest="")
        return workers.filter(token_digest="") if self.value() == "no" else workers


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = (
        "pseudonym",
        "run",
        "state",
        "is_registered",
        "may_see_text",
        "consecutive_valid",
        "checks_invalid",
        "last_seen_at",
        "copies_seen",
    )
    list_filter = (
        "state",
        Registered,
        "may_see_text",
        "run",
    )
    list_select_related = ("run",)
    search_fields = ("name",)
    exclude = ("token_digest", "sequence_request")
    readonly_fields = ("moved",)
    inlines = (WorkerEventInline,)
    action_form = ReasonForm

    @admin.display(description=_("name"), ordering="name")
    def pseudonym(self, worker: Worker) -> str:
        return in_one_piece(worker)

    @admin.display(description=_("bytes up / down"))
    def moved(self, worker: Worker) -> str:
        rows = WorkerTraffic.objects.filter(worker=worker).values_list("bytes_up", "bytes_down")
        return " / ".join(map(as_bytes, rows.first() or (0, 0)))

    @admin.display(description=_("registered"), boolean=True)
    def is_registered(self, worker: Worker) -> bool:
        return worker.is_registered

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        if not request.user.has_perm("coordination.change_worker"):
            return {}
        return {name: (_decide, name, it.title) for name, it in DECISIONS.items()}


def _decide(
    model_admin: WorkerAdmin, request: HttpRequest, workers: QuerySet[Worker]
) -> HttpResponse | None:
    """The action that was chosen in the menu, done to each of the selected workers, once it is
    confirmed where it asks for that."""
    decision, reason = DECISIONS[request.POST["action"]], request.POST.get("reason", "").strip()
    if decision.needs_reason and not reason:
        missing = _("Write a reason beside the menu; the volunteer reads it.")
        model_admin.message_user(request, missing, messages.ERROR)
        return None
    if decision.question and "confirmed" not in request.POST:
        return _confirmation(model_admin, request, workers, decision)
    for worker in workers:
        if decision.verb(worker, reason, request.user):
            text = f"{worker}: {worker.get_state_display()}"
            model_admin.message_user(request, text, messages.SUCCESS)
        else:
            names = {"worker": worker, "state": worker.get_state_display()}
            stays = _("%(worker)s stays as it is: %(state)s.") % names
            model_admin.message_user(request, stays, messages.WARNING)
    return None


def _confirmation(
    model_admin: WorkerAdmin, request: HttpRequest, workers: QuerySet[Worker], decision: Decision
) -> HttpResponse:
    context = model_admin.admin_site.each_context(request) | {
        "title": decision.title,
        "opts": model_admin.opts,
        "decision": decision,
        "action": request.POST["action"],
        "reason": request.POST.get("reason", ""),
        "chosen": workers,
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "coordination/admin/decide.html", context)


@admin.register(WorkerEvent)
class WorkerEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "worker", "verb", "reason", "actor")
    list_filter = ("verb", "worker__run")
    list_select_related = ("worker", "actor")
    search_fields = ("worker__name", "reason")


@admin.register(WorkerTraffic)
class WorkerTrafficAdmin(ReadOnlyAdmin):
    list_display = ("worker", "bytes_up", "bytes_down")
    list_filter = ("worker__run",)
    list_select_related = ("worker",)
    search_fields = ("worker__name",)
