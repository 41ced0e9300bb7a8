"""What every protocol view shares: version check, problem+json, bounded JSON bodies."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from django.db import InterfaceError, OperationalError
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.views.decorators.csrf import csrf_exempt
from pydantic import ValidationError

from coordination.models import Run
from coordination.tallies.gather import count_refusal, flush_if_due
from coordination.workers.welcome import admit
from worker_client.contract import MAX_JSON_BYTES, PROTOCOL_HEADER, PROTOCOL_VERSION
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.wire import Message, explain

DATABASE_RETRY_S = 5

log = logging.getLogger(__name__)
AnyMessage = TypeVar("AnyMessage", bound=Message)
RunView = Callable[..., HttpResponseBase]


def protocol_view(*methods: str) -> Callable[[RunView], RunView]:
    """Wrap ``view(request, run, ...)`` as a protocol v1 endpoint that answers ``methods``."""

    def decorate(view: RunView) -> RunView:
        @csrf_exempt
        @wraps(view)
        def endpoint(request: HttpRequest, slug: str, **kwargs: str) -> HttpResponseBase:
            response = _answer(view, methods, request, slug, kwargs)
            response.headers[PROTOCOL_HEADER] = str(PROTOCOL_VERSION)
            flush_if_due()
            return response

        return endpoint

    return decorate


def worker_view(*methods: str) -> Callable[[RunView], RunView]:
    """As ``protocol_view``, for ``view(request, run, caller, ...)``: workers only.

    ``caller`` is the worker whose token came with the request, or None in an open run.
    """

    def decorate(view: RunView) -> RunView:
        @protocol_view(*methods)
        @wraps(view)
        def admitting(request: HttpRequest, run: Run, **kwargs: str) -> HttpResponseBase:
            return view(request, run, admit(run, bearer_token(request)), **kwargs)

        return admitting

    return decorate


def bearer_token(request: HttpRequest) -> str | None:
    """The worker token that the request shows; credentials of another kind are not ours."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _answer(
    view: RunView,
    methods: tuple[str, ...],
    request: HttpRequest,
    slug: str,
    kwargs: dict[str, str],
) -> HttpResponseBase:
    run = None
    try:
        _check_version(request)
        run = Run.objects.filter(slug=slug).first()
        if run is None:
            raise Refused(Refusal.NOT_FOUND, "there is no such run at this address")
        if request.method not in methods:
            allowed = f"use {' or '.join(methods)}"
            response = _refuse(run, Refused(Refusal.METHOD_NOT_ALLOWED, allowed))
            response.headers["Allow"] = ", ".join(methods)
            return response
        return view(request, run, **kwargs)
    except Refused as refused:
        return _refuse(run, refused)
    except Http404:
        return _refuse(run, Refused(Refusal.NOT_FOUND, "nothing here"))
    except (OperationalError, InterfaceError) as error:
        # A line is enough: an outage brings many, and a full disk takes none.
        log.error("the database failed at %s: %s", request.path, " ".join(str(error).split()))
        detail = "the coordinator's database does not answer or its disk is full; try again later"
        return _refuse(run, Refused(Refusal.BUSY, detail, retry_after=DATABASE_RETRY_S))
    except Exception:
        log.exception("unexpected error at %s", request.path)
        detail = "the coordinator made a mistake; it has been logged, try again later"
        return _refuse(run, Refused(Refusal.INTERNAL, detail, retry_after=30))


def _refuse(run: Run | None, refused: Refused) -> JsonResponse:
    if run:
        count_refusal(run.pk, refused.refusal.code)
    return problem(refused)


def _check_version(request: HttpRequest) -> None:
    asked = request.headers.get(PROTOCOL_HEADER, str(PROTOCOL_VERSION)).strip()
    if asked.split(".")[0] != str(PROTOCOL_VERSION):
        raise Refused(
            Refusal.UNSUPPORTED_PROTOCOL,
            f"this coordinator speaks protocol {PROTOCOL_VERSION}, not {asked[:20]!r}",
            desteklenen=[PROTOCOL_VERSION],
        )


def problem(refused: Refused) -> JsonResponse:
    """A refusal as ``application/problem+json`` (RFC 9457)."""
    refusal = refused.refusal
    body: dict[str, object] = {
        "type": "about:blank",
        "title": refusal.title,
        "status": refusal.status,
        "detail": refused.detail,
        "kod": refusal.code,
        "tekrar": refusal.retry,
    }
    body |= {name: value for name, value in refused.extra.items() if name != "retry_after"}
    response = JsonResponse(
        body,
        status=refusal.status,
        content_type="application/problem+json",
        json_dumps_params={},
    )
    response.headers["Cache-Control"] = "no-store"
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if refused.retry_after is not None or refusal.status in (429, 503):
        response.headers["Retry-After"] = str(refused.retry_after or 5)
    return response


def read_message(request: HttpRequest, message: type[AnyMessage]) -> AnyMessage:
    """The request's JSON body as ``message``.

    Raises:
        Refused: TOO_LARGE above 64 KiB, BAD_REQUEST when it is not such a message.
    """
    if content_length(request) > MAX_JSON_BYTES:
        raise Refused(Refusal.TOO_LARGE, f"a JSON body has at most {MAX_JSON_BYTES} bytes")
    try:
        return message.model_validate_json(request.read(MAX_JSON_BYTES + 1))
    except ValidationError as error:
        raise Refused(Refusal.BAD_REQUEST, explain(error)) from None


def content_length(request: HttpRequest) -> int:
    """The announced length of the body in bytes.

    Raises:
        Refused: LENGTH_REQUIRED when there is none.
    """
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not announced.isascii() or not announced.isdigit():
        raise Refused(Refusal.LENGTH_REQUIRED, "say how long the body is in Content-Length")
    return int(announced)


def json_answer(message: Message, status: int = 200) -> JsonResponse:
    response = JsonResponse(message.to_wire(), status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def whole_number(request: HttpRequest, name: str) -> int:
    """The query parameter ``name`` as a number.

    Raises:
        Refused: BAD_REQUEST.
    """
    value = request.GET.get(name, "")
    if not (value.isascii() and value.isdigit() and len(value) <= 9):
        raise Refused(Refusal.BAD_REQUEST, f"write {name} as a whole number, as in ?{name}=1")
    return int(value)


def nothing(retry_after: int) -> HttpResponse:
    """204: nothing to do now, ask again after so many seconds."""
    return HttpResponse(status=204, headers={"Retry-After": str(retry_after)})
