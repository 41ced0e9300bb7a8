"""Pages that neither repeat nor skip a row while others are added: the cursor is a row's place."""

import base64
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from apiv1.errors import Problem

LIMIT, MAX_LIMIT = 50, 200
MAX_ID = 2**63 - 1


class NewestFirst(BasePagination):
    """Order by (``created``, id), newest first; subclasses name another column of time."""

    created: ClassVar[str] = "created_at"

    def paginate_queryset(
        self, queryset: QuerySet, request: Request, view: APIView | None = None
    ) -> list[Model]:
        """Raises Problem (400) for a cursor or limit that no answer gave."""
        limit = _limit(request.query_params.get("limit"))
        if text := request.query_params.get("cursor"):
            created, id_ = _decode(text)
            older = Q(**{f"{self.created}__lt": created})
            queryset = queryset.filter(older | Q(**{self.created: created}, id__lt=id_))
        rows = list(queryset.order_by(f"-{self.created}", "-id")[: limit + 1])
        self._next = None
        if len(rows) > limit:
            last = rows[limit - 1]
            cursor = _encode(getattr(last, self.created), last.pk)
            self._next = replace_query_param(request.build_absolute_uri(), "cursor", cursor)
        return rows[:limit]

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self._next, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": "string", "format": "uri", "nullable": True}
        described = gettext_noop("The next page's address; null on the last page.")
        return {
            "type": "object",
            "required": ["next", "results"],
            "properties": {"next": {**address, "description": described}, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": LIMIT}
        return [
            _parameter("limit", gettext_noop("Rows per page."), limit),
            _parameter(
                "cursor", gettext_noop("From next; it means nothing by itself."), {"type": "string"}
            ),
        ]


class NewestAttemptFirst(NewestFirst):
    created = "queued_at"


def _parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _limit(text: str | None) -> int:
    if text is None:
        return LIMIT
    if text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MAX_LIMIT:
        return int(text)
    raise Problem(400, "invalid_limit", _("limit is a number from 1 to %s.") % MAX_LIMIT)


def _encode(created: datetime, id_: int) -> str:
    return base64.urlsafe_b64encode(f"{created.isoformat()} {id_}".encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[datetime, int]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        created_text, id_text = text.split(" ")
        created, id_ = datetime.fromisoformat(created_text), int(id_text)
    except ValueError:  # also of base64 and of the encodings
        created, id_ = None, 0
    if created is None or created.tzinfo is None or not 0 < id_ <= MAX_ID:
        raise Problem(400, "invalid_cursor", _("Take the cursor from next, or leave it out."))
    return created, id_
