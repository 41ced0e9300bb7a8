from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CoordinationConfig(AppConfig):
    name = "coordination"
    verbose_name = _("Coordination")
    default_auto_field = "django.db.models.BigAutoField"
