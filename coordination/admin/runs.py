"""Runs, which an operator may pause, resume and in part change."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from coordination.admin.base import ReadOnlyInline, ReasonForm
from coordination.models import Round, Run
from coordination.pages.corpus import described
from coordination.preparing.counts import chunk_counts
from coordination.rounds.pause import pause_run, resume_run

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


class RoundInline(ReadOnlyInline):
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
    ordering = ("-number",)


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
