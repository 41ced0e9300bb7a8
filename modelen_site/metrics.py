"""``/metrics`` for Prometheus, shown to whoever has the operator's token."""

import hmac
from collections.abc import Iterator

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from coordination.live.metrics import metrics as of_runs
from portal.metrics import metrics as of_portal


class Site(Collector):
    """Reads everything anew each time."""

    def collect(self) -> Iterator[Metric]:
        yield from of_runs()
        yield from of_portal()


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """404 without ``MODELEN_METRICS_TOKEN``, 401 without it in the request."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
    wanted = settings.METRICS_TOKEN.encode()
    if scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), wanted):
        text = "Show MODELEN_METRICS_TOKEN as Authorization: Bearer TOKEN.\n"
        headers = {"WWW-Authenticate": "Bearer"}
        return HttpResponse(text, status=401, content_type="text/plain", headers=headers)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Site())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)
