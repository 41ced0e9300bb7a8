"""The coordinator in Django admin: all is to be seen, little to be changed, verbs are actions."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from coordination.leases.requeue import requeue_unit
from coordination.models import (
    Check,
    Chunk,
    DataShard,
    Evaluation,
    HeldOut,
    Lease,
    OuterState,
    Preparation,
    RefusalCount,
    Result,
    Round,
    RoundTally,
    Run,
    SamplePrompts,
    Samples,
    Snapshot,
    Unit,
    Upload,
    Worker,
    WorkerEvent,
    WorkerTraffic,
)
from coordination.pages.corpus import described
from coordination.preparing.counts import chunk_counts
from coordination.rounds.pause import pause_run, resume_run
from coordination.templatetags.live import as_bytes
from coordination.workers.decisions import DECISIONS, Decision

# What an operator may change while a run goes on; the rest would make its rounds incomparable.
EDITABLE_RUN_FIELDS = (
    "name",
    "description",
    "data_licence",
    "data_source",
    "corpus_public",
    "contact",
    "min_worker_version",
    "min_results",
    "round_seconds",
    "lease_seconds",
    "lease_max_seconds",
    "max_leases_per_worker",
    "max_leases_per_address",
    "max_unregistered_per_address",
    "open_to_all",
    "verify",
    "proven_after",
    "check_floor",
    "trust_weights",
    "quorum",
    "grace_factor",
    "backup_seconds",
    "keep_snapshots",
)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows are made and changed by verbs only."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class ReasonForm(ActionForm):
    reason = forms.CharField(
        label=_("Reason, which volunteers read:"), max_length=300, required=False
    )


class RoundInline(admin.TabularInline):
    model = Round
    fields = (
        "number",
        "state",
        "accepted",
        "screened",
        "loss",
        "rule",
        "fallback",
        "lora_bias",
        "reopenings",
        "published_at",
    )
    readonly_fields = fields
    can_delete = False
    extra = 0
    ordering = ("-number",)
    max_num = 0

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Run)
class RunAdmin(admin.ModelAdmin):
    list_display = ("slug", "state", "format", "rounds", "shards", "created_at", "pause_reason")
    list_filter = ("state", "format", "mode")
    search_fields = ("slug", "name", "description")
    inlines = (RoundInline,)
    actions = ("pause", "resume")
    action_form = ReasonForm

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> list[str]:
        names = [field.name for field in Run._meta.fields if field.name != "corpus"]
        return [*(name for name in names if name not in EDITABLE_RUN_FIELDS), "text", "prepared"]

    @admin.display(description=_("Text"))
    def text(self, run: Run) -> str:
        """What it is trained on; of a closed run only staff may know."""
        if not run.corpus:
            return self.get_empty_value_display()
        return render_to_string("coordination/corpus_parts.html", described(run))

    @admin.display(description=_("Chunks of text prepared"))
    def prepared(self, run: Run) -> str:
        counts = chunk_counts(run)
        return f"{counts.done} / {counts.total}" if counts else self.get_empty_value_display()

    @admin.action(description=_("Pause the selected runs"), permissions=["change"])
    def pause(self, request: HttpRequest, runs: QuerySet[Run]) -> None:
        # Shown on the run's page, so nothing of who did it.
        reason = request.POST.get("reason", "").strip() or "paused by an admin"
        done = sum(pause_run(run, reason) for run in runs)
        text = ngettext("%(count)d run paused.", "%(count)d runs paused.", done)
        self.message_user(request, text % {"count": done})

    @admin.action(description=_("Resume the selected runs"), permissions=["change"])
    def resume(self, request: HttpRequest, runs: QuerySet[Run]) -> None:
        done = sum(resume_run(run) for run in runs)
        text = ngettext("%(count)d run resumed.", "%(count)d runs resumed.", done)
        self.message_user(request, text % {"count": done})


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin):
    list_display = (
        "run",
        "number",
        "state",
        "accepted",
        "screened",
        "loss",
        "rule",
        "fallback",
        "lora_bias",
        "opened_at",
    )
    list_filter = ("state", "run")
    list_select_related = ("run",)


@admin.register(Unit)
class UnitAdmin(ReadOnlyAdmin):
    list_display = ("round", "shard", "job", "state")
    list_filter = ("job", "state", "round__run")
    list_select_related = ("round__run", "chunk__run")
    actions = ("requeue",)

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("coordination.change_run")

    @admin.action(
        description=_("Take back the leases and re-queue the selected units"),
        permissions=["requeue"],
    )
    def requeue(self, request: HttpRequest, units: QuerySet[Unit]) -> None:
        done = sum(requeue_unit(unit) for unit in units)
        self.message_user(
            request,
            _("%(count)d units are free again; units that are done stay done.") % {"count": done},
            messages.SUCCESS if done else messages.WARNING,
        )


@admin.register(Lease)
class LeaseAdmin(ReadOnlyAdmin):
    list_display = ("token", "unit", "worker", "state", "step", "granted_at", "expires_at")
    list_filter = ("state", "unit__round__run")
    list_select_related = ("unit__round__run", "worker")
    search_fields = ("token", "worker__name")
    exclude = ("request_digest", "key_digest")


@admin.register(Result)
class ResultAdmin(ReadOnlyAdmin):
    list_display = (
        "unit",
        "lease",
        "state",
        "code",
        "weight",
        "update_norm",
        "loss_last",
        "created_at",
    )
    list_filter = ("state", "code", "unit__round__run")
    list_select_related = ("unit__round__run", "lease")
    search_fields = ("sha256", "lease__worker__name")


class WorkerEventInline(admin.TabularInline):
    """Who decided what about this worker, and why."""

    model = WorkerEvent
    fields = ("at", "verb", "reason", "actor")
    readonly_fields = fields
    can_delete = False
    extra = 0
    max_num = 0

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


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
        return _name(worker)

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


def _figure(value: float | None) -> str:
    return "–" if value is None else format(value, ".3g")


@admin.register(Check)
class CheckAdmin(ReadOnlyAdmin):
    list_display = ("result", "author", "state", "found", "decided_at")
    list_filter = ("state", "reason", "result__unit__round__run")
    list_select_related = ("result__unit__round__run", "result__lease__worker")
    search_fields = ("result__sha256", "result__lease__worker__name")
    fields = ("result", "author", "state", "reason", "told", "created_at", "decided_at")

    @admin.display(description=_("author"), ordering="result__lease__worker__name")
    def author(self, check: Check) -> str:
        return _name(check.result.lease.worker)

    @admin.display(description=_("findings"))
    def found(self, check: Check) -> str:
        """What each repetition or measurement came to; ∞ where nothing was done."""
        return "; ".join(_finding(opinion) for opinion in check.evidence)

    @admin.display(description=_("evidence"))
    def told(self, check: Check) -> str:
        """One line for each repetition or measurement: who made it how, and what came of it."""
        told = {
            "repetitions": [opinion for opinion in check.evidence if "relative" in opinion],
            "measurements": [opinion for opinion in check.evidence if "harm" in opinion],
            "rows": [opinion for opinion in check.evidence if "rows" in opinion],
        }
        return render_to_string("coordination/admin/evidence.html", told)


def _finding(opinion: dict[str, Any]) -> str:
    """Distances as a part of the update; gains in nats per token, harm as a part of the loss."""
    if "rows" in opinion:
        return opinion["rows"][:12]
    if "relative" in opinion:
        relative = opinion["relative"]
        distance = "∞" if relative is None else _figure(relative)
        return f"{distance} / {opinion['tolerance']:g}"
    return ", ".join(_figure(opinion[name]) for name in ("own", "other", "harm"))


def _name(worker: Worker) -> str:
    """In one piece: browsers would break it at its hyphens."""
    return format_html('<span class="name">{}</span>', worker.name)


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("run", "number", "sha256", "size", "created_at", "deleted_at")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(OuterState)
class OuterStateAdmin(ReadOnlyAdmin):
    list_display = ("snapshot", "name", "sha256")
    list_filter = ("snapshot__run",)
    list_select_related = ("snapshot__run",)


@admin.register(DataShard)
class DataShardAdmin(ReadOnlyAdmin):
    list_display = ("run", "index", "rows", "size", "sha256")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(RoundTally)
class RoundTallyAdmin(ReadOnlyAdmin):
    list_display = (
        "round",
        "workers",
        "gpu_workers",
        "cpu_workers",
        "tokens",
        "bytes_up",
        "bytes_down",
        "expired",
        "refused",
        "checks_valid",
        "checks_invalid",
        "checks_unverified",
    )
    list_filter = ("round__run",)
    list_select_related = ("round__run",)
    ordering = ("-round",)


@admin.register(WorkerTraffic)
class WorkerTrafficAdmin(ReadOnlyAdmin):
    list_display = ("worker", "bytes_up", "bytes_down")
    list_filter = ("worker__run",)
    list_select_related = ("worker",)
    search_fields = ("worker__name",)


@admin.register(RefusalCount)
class RefusalCountAdmin(ReadOnlyAdmin):
    list_display = ("run", "code", "count")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(HeldOut)
class HeldOutAdmin(ReadOnlyAdmin):
    list_display = ("run", "language", "rows", "tokens", "bytes", "sha256")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(Preparation)
class PreparationAdmin(ReadOnlyAdmin):
    list_display = ("run", "cleaning", "languages", "prepared_at")
    list_select_related = ("run",)


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    list_display = ("run", "index", "size", "sha256")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    list_display = ("snapshot", "language", "loss", "bits_per_byte", "evaluator")
    list_filter = ("held_out__language", "snapshot__run")
    list_select_related = ("snapshot__run", "held_out", "result__lease__worker")

    @admin.display(description=_("language"), ordering="held_out__language")
    def language(self, evaluation: Evaluation) -> str:
        return evaluation.held_out.language

    @admin.display(description=_("bits per byte"))
    def bits_per_byte(self, evaluation: Evaluation) -> str:
        return f"{evaluation.held_out.bits_per_byte(evaluation.loss):.4f}"

    @admin.display(description=_("measured by"))
    def evaluator(self, evaluation: Evaluation) -> str:
        return evaluation.result.lease.worker.name


@admin.register(SamplePrompts)
class SamplePromptsAdmin(ReadOnlyAdmin):
    list_display = ("run", "prompts")
    list_select_related = ("run",)


@admin.register(Samples)
class SamplesAdmin(ReadOnlyAdmin):
    list_display = ("snapshot", "claimed_at", "error")
    list_filter = ("snapshot__run",)
    list_select_related = ("snapshot__run",)


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    list_display = ("lease", "size", "sha256", "created_at")
    list_select_related = ("lease",)
