"""ETags of what carries a revision: ``"7-9f86d081884c"``, the revision and the answer's digest.

If-Match compares the revision alone, since a heartbeat changes the answer but is no edit of the
listing; If-None-Match compares the whole.
"""

import hashlib
import re

from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apiv1.errors import Problem
from portal.listings.errors import Outdated
from portal.models import Coordinator

_TAG = re.compile(r'"(?P<revision>\d{1,9})(?:-[0-9a-f]+)?"')


def tagged(response: Response, revision: int) -> Response:
    """Add the ETag."""
    digest = hashlib.sha256(JSONRenderer().render(response.data)).hexdigest()
    response["ETag"] = f'"{revision}-{digest[:12]}"'
    return response


def unless_known(request: Request, response: Response) -> Response:
    """Answer 304 instead when the client has this already."""
    known = [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]
    if response["ETag"] not in [tag.removeprefix("W/") for tag in known]:
        return response
    return Response(status=304, headers={"ETag": response["ETag"]})


def demand_match(request: Request, coordinator: Coordinator) -> int:
    """Return the revision that If-Match names.

    Raises:
        Problem: 428 without the header.
        Outdated: it names another revision than the coordinator's.
    """
    if "If-Match" not in request.headers:
        raise Problem(
            428, "if_match_missing", _("Read it first, and send its ETag as If-Match with this.")
        )
    return match_if_given(request, coordinator)


def match_if_given(request: Request, coordinator: Coordinator) -> int:
    """Return the revision to act on; raises Outdated when If-Match names another."""
    given = request.headers.get("If-Match", "*").strip()
    found = _TAG.fullmatch(given)
    if given != "*" and (found is None or int(found["revision"]) != coordinator.revision):
        raise Outdated(_("The listing has changed since you read it; look at it again."))
    return coordinator.revision
