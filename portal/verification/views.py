"""The file in which this site proves the addresses of coordinators that it runs itself."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from portal.models import ENDED, Coordinator
from portal.verification.address import parse
from portal.verification.challenge import line


@never_cache
@require_safe
def verification_file(request: HttpRequest) -> HttpResponse:
    """One line per coordinator whose address is on the host that was asked.

    Only those of staff: whoever else claims an address on this site does not run it.
    """
    host = request.get_host().lower()
    coordinators = Coordinator.objects.filter(
        operator__is_staff=True, operator__is_active=True, address__icontains=f"://{host}"
    )
    lines = [
        f"{line(coordinator)}\n"
        for coordinator in coordinators.exclude(state__in=ENDED).order_by("slug")
        if _is_on(coordinator.address, host)
    ]
    return HttpResponse("".join(lines), content_type="text/plain; charset=utf-8")


def _is_on(address: str, host: str) -> bool:
    try:
        return parse(address)[0].netloc == host
    except ValidationError:
        return False
