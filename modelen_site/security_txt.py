"""Where to report a vulnerability of this site, for people and programs (RFC 9116)."""

from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

# Short, since a site that is left to itself must not go on saying so for long.
VALID = timedelta(days=90)


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """404 where MODELEN_SECURITY_CONTACT names nobody."""
    if not settings.SECURITY_CONTACTS:
        raise Http404
    lines = [f"Contact: {contact}" for contact in settings.SECURITY_CONTACTS]
    lines += [
        f"Expires: {_expiry().isoformat()}",
        "Preferred-Languages: en, tr",
        f"Canonical: {request.build_absolute_uri(request.path)}",
    ]
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8")


def _expiry() -> datetime:
    """A midnight, so that the text changes once a day."""
    today = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    return today + VALID
