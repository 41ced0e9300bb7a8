from django.apps import AppConfig


class ModelenSiteConfig(AppConfig):
    name = "modelen_site"
