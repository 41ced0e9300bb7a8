"""The leaderboard of a run; complete without JavaScript, sorted by links."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from coordination.models import Run
from coordination.workers.leaderboard import DEFAULT_SORT, SORTS, leaderboard

WORKERS_PER_PAGE = 50
TITLES = {
    "name": _("Pseudonym"),
    "tasks": _("Tasks"),
    "tokens": _("Tokens"),
    "share": _("Accepted share"),
}


@dataclass(frozen=True)
class Column:
    """``sort`` is what a press on it asks for; ``order`` how the page is sorted by it now."""

    title: str | Promise
    sort: str
    order: str
    is_number: bool


@require_safe
def leaderboard_page(request: HttpRequest, slug: str) -> HttpResponse:
    run = get_object_or_404(Run, slug=slug)
    asked = request.GET.get("sort", "")
    sort = asked if asked.removeprefix("-") in SORTS else DEFAULT_SORT
    page = Paginator(leaderboard(run, sort), WORKERS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"run": run, "page": page, "sort": sort, "columns": list(_columns(sort))}
    return render(request, "coordination/leaderboard.html", context)


def _columns(sort: str) -> Iterator[Column]:
    """Names begin with a, numbers with the largest; pressing again turns a column round."""
    for name, title in TITLES.items():
        is_number = name != "name"
        usual, other = (f"-{name}", name) if is_number else (name, f"-{name}")
        order = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
        yield Column(title, other if sort == usual else usual, order, is_number)
