from django.apps import AppConfig


class ApiV1Config(AppConfig):
    name = "apiv1"
