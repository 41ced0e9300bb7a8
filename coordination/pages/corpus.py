"""What a run's text is made of: of an open run for everybody, if its operator says so; else for
staff, in the admin site.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import get_language_info
from django.views.decorators.http import require_safe

from coordination.models import Run
from worker_client.contract.corpora import CorpusDescription


@require_safe
def corpus_page(request: HttpRequest, slug: str) -> HttpResponse:
    run = get_object_or_404(Run, slug=slug)
    if not run.shows_corpus:
        raise Http404
    return render(request, "coordination/corpus.html", {"run": run, **described(run)})


def described(run: Run) -> dict[str, Any]:
    """What ``coordination/corpus_parts.html`` shows."""
    corpus = CorpusDescription.model_validate(run.corpus)
    return {
        "corpus": corpus,
        "languages": [(name_of(code), code, row) for code, row in corpus.languages.items()],
        "samples": [(name_of(sample.language), sample) for sample in corpus.samples],
    }


def name_of(code: str) -> str:
    """A language in the reader's own, or its code where Django does not know it."""
    try:
        return get_language_info(code)["name_translated"]
    except KeyError:
        return code
