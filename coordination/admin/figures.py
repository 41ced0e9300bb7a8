"""What was counted and measured."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from coordination.admin.base import ReadOnlyAdmin
from coordination.models import Evaluation, RefusalCount, RoundTally, SamplePrompts, Samples


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


@admin.register(RefusalCount)
class RefusalCountAdmin(ReadOnlyAdmin):
    list_display = ("run", "code", "count")
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
