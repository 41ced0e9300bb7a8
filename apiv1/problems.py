"""Errors as application/problem+json (RFC 9457), with a stable ``code`` and the fields at fault."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.signals import got_request_exception
from django.http import JsonResponse
from django.utils.log import log_response
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler

from accounts.keys.errors import BeyondReach, NotLive, NotYours, TooManyKeys
from apiv1.errors import Problem
from portal.listings.errors import Incomplete, NotAllowed, Outdated, Taken, WrongState
from portal.verification.errors import TooOften

MEDIA_TYPE = "application/problem+json"
TITLES = {
    400: gettext_lazy("Bad request"),
    401: gettext_lazy("Unauthorized"),
    403: gettext_lazy("Forbidden"),
    404: gettext_lazy("Not found"),
    405: gettext_lazy("Method not allowed"),
    409: gettext_lazy("Conflict"),
    412: gettext_lazy("Precondition failed"),
    413: gettext_lazy("Content too large"),
    415: gettext_lazy("Unsupported media type"),
    422: gettext_lazy("Unprocessable content"),
    428: gettext_lazy("Precondition required"),
    429: gettext_lazy("Too many requests"),
    500: gettext_lazy("Internal server error"),
}


def problem_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Answer any exception of a view with a problem; what nobody foresaw is logged and is a 500.

    Headers such as Retry-After and WWW-Authenticate are DRF's own.
    """
    known = _translate(error)
    response = exception_handler(known, context)
    if response is None:
        response = Response(status=500)
        _report(error, response, context)
    response.data = _describe(known, response)
    response.content_type = MEDIA_TYPE
    return response


def problem_response(status: int, code: str, detail: str) -> JsonResponse:
    """A problem from outside DRF's views."""
    return JsonResponse(problem(status, code, detail), status=status, content_type=MEDIA_TYPE)


def problem(
    status: int, code: str, detail: str, errors: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    """The members of a problem. ``type`` is about:blank: ``code`` tells problems apart, and title
    and detail are in the reader's language."""
    body = {
        "type": "about:blank",
        "title": str(TITLES.get(status) or HTTPStatus(status).phrase),
        "status": status,
        "detail": detail,
        "code": code,
    }
    return body | ({"errors": errors} if errors else {})


def _translate(error: Exception) -> Exception:
    """What verbs and the database refuse, as errors of the API."""
    match error:
        case ValidationError():
            return exceptions.ValidationError(_by_field(error))
        case WrongState():
            return Problem(409, "wrong_state", str(error))
        case Outdated():
            return Problem(412, "outdated", str(error))
        case NotAllowed() | NotYours():
            return Problem(403, "not_allowed", str(error))
        case BeyondReach():
            return Problem(403, "beyond_reach", str(error))
        case ReauthenticationRequired():
            detail = _("Confirm that it is you, at /accounts/reauthenticate/, and try again.")
            return Problem(403, "reauthentication_required", detail)
        case NotLive():
            return Problem(409, "key_not_live", str(error))
        case TooManyKeys():
            return Problem(409, "too_many_keys", str(error))
        case Incomplete():
            detail = _("Some of what an admin needs is missing.")
            return Problem(422, "incomplete", detail, error.fields)
        case TooOften():
            return exceptions.Throttled(error.retry_after_s)
        case Taken():
            return Problem(409, "conflict", str(error), {error.field: str(error)})
    return error


def _by_field(error: ValidationError) -> dict[str, list[str]] | list[str]:
    if not hasattr(error, "error_dict"):
        return error.messages
    fields = error.message_dict
    general = fields.pop(NON_FIELD_ERRORS, None)
    return fields | ({"non_field_errors": general} if general else {})


def _describe(error: Exception, response: Response) -> dict[str, Any]:
    status = response.status_code
    if status == 500:
        detail = _("Something went wrong on our side; it is logged. Try again later.")
        return problem(500, "internal_server_error", detail)
    if isinstance(error, exceptions.ValidationError):
        detail = _("The request is not valid; errors says what is wrong where.")
        return problem(status, "invalid", detail, list(_flatten(error.get_full_details())))
    codes = error.get_codes() if isinstance(error, exceptions.APIException) else None
    code = codes if isinstance(codes, str) else HTTPStatus(status).name.lower()
    errors = getattr(error, "errors", None)
    return problem(status, code, str(response.data["detail"]), list(_flatten(errors)) or None)


def _flatten(found: Any, field: str = "") -> Iterator[dict[str, str]]:
    """One entry per error; ``field`` is a path like ``languages.0``, empty for the whole."""
    match found:
        case None:
            return
        case {"message": message, "code": str(code)}:
            yield {"field": field, "code": code, "message": str(message)}
        case dict():
            for name, inner in found.items():
                part = "" if name == "non_field_errors" else str(name)
                yield from _flatten(inner, ".".join(filter(None, (field, part))))
        case list():
            for index, inner in enumerate(found):
                own = isinstance(inner, dict) and set(inner) == {"message", "code"}
                yield from _flatten(inner, field if own else f"{field}.{index}".strip("."))
        case _:
            yield {"field": field, "code": "invalid", "message": str(found)}


def _report(error: Exception, response: Response, context: dict[str, Any]) -> None:
    """As Django does for its own views: log it, and tell whoever watches exceptions."""
    request = context["request"]._request
    got_request_exception.send(sender=None, request=request)
    log_response(
        "Internal Server Error: %s",
        request.path,
        response=response,
        request=request,
        exception=error,
    )
