"""The API's description, for programs and for people."""

import hashlib
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from apiv1.reference import OPENAPI, reference
from apiv1.views.base import let_other_sites_read


@cache
def _openapi() -> tuple[bytes, str]:
    content = OPENAPI.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The committed file: what it says is tested against the code, so nothing is generated here."""
    content, etag = _openapi()
    response = HttpResponse(content, content_type="application/json")
    response["ETag"] = etag
    let_other_sites_read(response)
    response["Cache-Control"] = "public, max-age=300"
    return get_conditional_response(request, etag=etag, response=response) or response


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The same as a page."""
    return render(request, "apiv1/docs.html", {"reference": reference()})
