"""The front page."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this site is."""
    return HttpResponse(_("Modelen: models trained by volunteers"), content_type="text/plain")
