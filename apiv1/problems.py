"""Errors as application/problem+json (RFC 9457)."""

from http import HTTPStatus
from typing import Any

from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import exception_handler


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn what DRF would answer into a problem; None (a 500) for what it does not know.

    Headers such as Retry-After and WWW-Authenticate are DRF's own.
    """
    response = exception_handler(error, context)
    if response is None:
        return None
    response.data = {
        "type": "about:blank",
        "title": HTTPStatus(response.status_code).phrase,
        "status": response.status_code,
        "detail": _detail(response.data),
        "code": _code(error, response.status_code),
    }
    response.content_type = "application/problem+json"
    return response


def _detail(data: Any) -> str:
    return str(data["detail"]) if isinstance(data, dict) and "detail" in data else str(data)


def _code(error: Exception, status: int) -> str:
    codes = error.get_codes() if isinstance(error, APIException) else None
    return codes if isinstance(codes, str) else HTTPStatus(status).name.lower()
