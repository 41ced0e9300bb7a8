from django.apps import AppConfig


class ApiV1Config(AppConfig):
    name = "apiv1"
    verbose_name = "Portal API"

    def ready(self) -> None:
        """Make drf-spectacular know our authentication."""
        from apiv1 import schema  # noqa: F401
