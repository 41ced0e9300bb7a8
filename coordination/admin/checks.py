"""Checks of results, with their evidence."""

from typing import Any

from django.contrib import admin
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _

from coordination.admin.base import ReadOnlyAdmin, in_one_piece
from coordination.models import Check


@admin.register(Check)
class CheckAdmin(ReadOnlyAdmin):
    list_display = ("result", "author", "state", "found", "decided_at")
    list_filter = ("state", "reason", "result__unit__round__run")
    list_select_related = ("result__unit__round__run", "result__lease__worker")
    search_fields = ("result__sha256", "result__lease__worker__name")
    fields = ("result", "author", "state", "reason", "told", "created_at", "decided_at")

    @admin.display(description=_("author"), ordering="result__lease__worker__name")
    def author(self, check: Check) -> str:
        return in_one_piece(check.result.lease.worker)

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


def _figure(value: float | None) -> str:
    return "–" if value is None else format(value, ".3g")
