"""Websocket addresses of live pages, and what each kind watches."""

from django.urls import path

from coordination.live import watched
from modelen_site.live.consumer import LiveConsumer
from modelen_site.live.poller import Poller, Source
from portal import live
from portal.directory import watched as listed

runs = Poller(
    Source(watched.find, watched.versions, watched.message, watched.INTERVAL_S, watched.REFRESH_S)
)
coordinators = Poller(Source(live.find, live.versions, live.message, live.INTERVAL_S))
_all_listed = listed.Directory()
directory = Poller(
    Source(listed.find, _all_listed.versions, _all_listed.message, listed.INTERVAL_S)
)

websocket_urlpatterns = [
    path("ws/c/<slug:slug>/", LiveConsumer.as_asgi(poller=runs)),
    path("ws/coordinators/", LiveConsumer.as_asgi(poller=directory)),
    path("ws/coordinators/<slug:slug>/", LiveConsumer.as_asgi(poller=coordinators)),
]
