"""For a threaded WSGI server in front of the protocol's synchronous views."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "modelen_site.settings")

application = get_wsgi_application()
