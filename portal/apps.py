from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PortalConfig(AppConfig):
    name = "portal"
    verbose_name = _("portal")

    def ready(self) -> None:
        from portal import checks, leaving  # noqa: F401

        checks.shout()
