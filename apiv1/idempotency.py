"""Idempotency-Key on POST: a request sent twice acts once, and both get the same answer.

The request is claimed by a row of its own; then the verb and the row's answer are one transaction.
So a crash leaves a claim without an answer and without a deed, which may be taken over; a request
that was only slow finds its claim gone and takes its deed back.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apiv1.errors import Problem
from apiv1.models import IdempotentRequest

KEPT = timedelta(hours=24)
# Longer than any request takes; a claim older than this was left by a crash.
IN_FLIGHT = timedelta(seconds=60)
KEPT_HEADERS = ("Location", "ETag")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

Post = Callable[..., Response]


def idempotent(secret: str | None = None) -> Callable[[Post], Post]:
    """Decorate a view's ``post``. The member ``secret`` of its answer is not kept: a repeated
    request is answered with null there."""

    def decorate(post: Post) -> Post:
        @functools.wraps(post)
        def once(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            if "Idempotency-Key" not in request.headers:
                return post(view, request, *args, **kwargs)
            claim = _claim(request, view.bound_to or 0)
            if claim.status is not None:
                return Response(claim.answer, claim.status, headers=claim.headers)
            try:
                with transaction.atomic():
                    response = post(view, request, *args, **kwargs)
                    _keep(claim, response, secret)
            except BaseException:
                # Nothing was done, so the same key may be tried again.
                _held(claim).delete()
                raise
            return response

        return once

    return decorate


def _claim(request: Request, reach: int) -> IdempotentRequest:
    """Return the request's row: claimed by this call, or answered by an earlier one of the same
    reach, since an answer may show more than a bound key may see.

    Raises:
        Problem: 400 for a bad key, 409 while the first is in flight, 422 for another body.
    """
    key, now = request.headers["Idempotency-Key"], timezone.now()
    if not _KEY.fullmatch(key):
        raise Problem(
            400,
            "invalid_idempotency_key",
            _("Idempotency-Key is 1 to 255 visible ASCII characters."),
        )
    _forget_old()
    row, created = IdempotentRequest.objects.get_or_create(
        user=request.user,
        path=request.path,
        key=key,
        reach=reach,
        defaults={"body_hash": _hash(request), "claimed_at": now},
    )
    if created:
        return row
    if row.body_hash != _hash(request):
        raise Problem(
            422, "idempotency_key_reused", _("This Idempotency-Key came with another body before.")
        )
    if row.status is None and not _take_over(row):
        raise Problem(
            409, "in_flight", _("The same request is being answered; try again in a moment.")
        )
    return row


def _take_over(row: IdempotentRequest) -> bool:
    now = timezone.now()
    if row.claimed_at > now - IN_FLIGHT or not _held(row).update(claimed_at=now):
        return False
    row.claimed_at = now
    return True


def _held(claim: IdempotentRequest) -> Any:
    """The row as long as the claim is this one's."""
    return IdempotentRequest.objects.filter(
        pk=claim.pk, claimed_at=claim.claimed_at, status__isnull=True
    )


def _keep(claim: IdempotentRequest, response: Response, secret: str | None) -> None:
    answer = json.loads(JSONRenderer().render(response.data) or "null")
    if secret is not None:
        answer[secret] = None
    headers = {name: response[name] for name in KEPT_HEADERS if response.has_header(name)}
    if not _held(claim).update(status=response.status_code, headers=headers, answer=answer):
        raise Problem(409, "in_flight", _("This request took so long that another took its place."))


def _forget_old() -> None:
    IdempotentRequest.objects.filter(claimed_at__lt=timezone.now() - KEPT).delete()


def _hash(request: Request) -> str:
    """Of the body's meaning: spaces and the order of members do not count."""
    return hashlib.sha256(json.dumps(request.data, sort_keys=True).encode()).hexdigest()
