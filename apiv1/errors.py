"""Errors of the API's own; ``problems`` writes them down, with those of verbs and of DRF."""

from django.utils.translation import gettext_lazy
from rest_framework import exceptions


class Problem(exceptions.APIException):
    """An error of the API's own; subclasses and callers name status, code and remedy."""

    def __init__(self, status: int, code: str, detail: str, errors: object = None) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.errors = errors


class TooLarge(exceptions.APIException):
    status_code = 413
    default_detail = gettext_lazy("The body is larger than this address takes.")
    default_code = "too_large"
