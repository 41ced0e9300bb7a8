"""Pages over HTTP and live status over websockets."""

import os
from importlib.util import find_spec

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "modelen_site.settings")
_http = get_asgi_application()

if find_spec("coordination") and find_spec("coordination.live.routing"):
    from coordination.live.routing import websocket_urlpatterns
else:
    websocket_urlpatterns = []

application = ProtocolTypeRouter(
    {
        "http": _http,
        # Live status is public, so no session is read for it.
        "websocket": AllowedHostsOriginValidator(URLRouter(websocket_urlpatterns)),
    }
)
