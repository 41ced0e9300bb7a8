"""The first page: this server's own runs, and some of the coordinators listed in its portal."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from coordination.pages.views import runs
from portal.directory.find import Wanted, find

LISTED_SHOWN = 6


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Runs in pages; of the coordinators those that have most volunteers."""
    listed = find(Wanted(sort="workers"))[:LISTED_SHOWN]
    return render(request, "home.html", runs(request) | {"listed": listed})
