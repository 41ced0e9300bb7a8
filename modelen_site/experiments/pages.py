"""Published experiments for people: a list, a page each, its plots and its numbers."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from modelen_site.experiments.plots import PLOTS, drawn
from modelen_site.experiments.publish import find_published, published, published_folder
from modelen_site.experiments.report import Report
from modelen_site.experiments.tables import conditions, curves, how_it_ran, tables

# An SVG opened by itself is a document of its own: its styles may count, nothing else.
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@require_safe
def experiments(request: HttpRequest) -> HttpResponse:
    listed = [
        {"report": report, "how": how_it_ran(report), "met": sum(bool(b.met) for b in report.bars)}
        for report in published()
    ]
    return render(request, "experiments/list.html", {"listed": listed})


@require_safe
def experiment(request: HttpRequest, slug: str) -> HttpResponse:
    report = _find(slug)
    folder, language = published_folder() / slug, get_language() or "en"
    context = {
        "report": report,
        "conditions": list(conditions(report)),
        "tables": tables(report),
        "curves": curves(report),
        "plots": [plot for plot in drawn(report, language) if (folder / plot.file).exists()],
    }
    return render(request, "experiments/experiment.html", context)


@require_safe
def experiment_data(request: HttpRequest, slug: str) -> HttpResponse:
    """The report's numbers as they are."""
    return HttpResponse(_find(slug).model_dump_json(indent=1), content_type="application/json")


@require_safe
def experiment_plot(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """A plot in the reader's language, as SVG."""
    _find(slug)
    plot = next((plot for plot in PLOTS if plot.name == name), None)
    if plot is None:
        raise Http404
    try:
        file = (published_folder() / slug / plot.file(get_language() or "en")).open("rb")
    except OSError:
        raise Http404 from None
    return FileResponse(
        file, content_type="image/svg+xml", headers={"Content-Security-Policy": SVG_POLICY}
    )


def _find(slug: str) -> Report:
    report = find_published(slug)
    if report is None:
        raise Http404
    return report
