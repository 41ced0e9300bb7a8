"""Pages for people. All of them are complete without JavaScript."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from coordination.clock import now
from coordination.live.dashboard import dashboard
from coordination.live.overview import annotated_runs, cards
from coordination.live.snapshot import PAGE_ROUNDS, page_snapshot
from coordination.live.watched import REFRESH_S
from coordination.models import DataShard, Run
from coordination.samples.read import newest_samples

RUNS_PER_PAGE = 24
MAX_ROUND = 10**6 + 1
JSON_AGE_S = 5


def runs(request: HttpRequest) -> dict[str, Any]:
    """What ``coordination/runs.html`` shows: a page of this server's runs."""
    page = Paginator(annotated_runs(), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    return {"page": page, "cards": list(cards(page.object_list))}


@require_safe
def run_page(request: HttpRequest, slug: str) -> HttpResponse:
    """One run, live. Its address is also the coordinator's base URL."""
    run = get_object_or_404(Run, slug=slug)
    before = _round_number(request.GET.get("once"))
    snapshot = page_snapshot(run, before)
    context = {
        "run": run,
        "format": run.manifest,
        "snapshot": snapshot,
        "before": before,
        "older": _older(snapshot),
        "samples": newest_samples(run),
        "data_bytes": sum(DataShard.objects.filter(run=run).values_list("size", flat=True)),
        "base_url": request.build_absolute_uri(run.get_absolute_url()).rstrip("/"),
    }
    return render(request, "coordination/run.html", context)


@require_safe
def live_json(request: HttpRequest, slug: str) -> HttpResponse:
    """What the websocket sends, for a page that cannot have one."""
    run = get_object_or_404(Run, slug=slug)
    etag = f'W/"{run.version}-{int(now().timestamp() // REFRESH_S)}"'
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponse(status=304)
    else:
        response = JsonResponse(page_snapshot(run))
    response["ETag"] = etag
    patch_cache_control(response, public=True, no_cache=True)
    return response


@require_safe
def dashboard_json(request: HttpRequest, slug: str) -> HttpResponse:
    """How the run goes, for programs, those on other sites' pages included; ``?once=`` asks for
    earlier rounds."""
    run = get_object_or_404(Run, slug=slug)
    seen = dashboard(run, before=_round_number(request.GET.get("once")))
    about = {"run": run.slug, "name": run.name, "samples": newest_samples(run)}
    response = JsonResponse(about | seen.to_json())
    response["Access-Control-Allow-Origin"] = "*"
    patch_cache_control(response, public=True, max_age=JSON_AGE_S)
    return response


def _round_number(text: str | None) -> int | None:
    return min(int(text), MAX_ROUND) if text and text.isascii() and text.isdigit() else None


def _older(snapshot: dict) -> int | None:
    """The round before which there are more, if there are."""
    rows = snapshot["history"]
    return rows[-1]["round"] if len(rows) == PAGE_ROUNDS and rows[-1]["round"] > 1 else None
