"""What drf-spectacular cannot see: problems, headers, scopes and the two ways in.

Texts are English here and wherever views and serializers describe themselves, marked by
``gettext_noop``; the page of the API (``reference``) shows them in its reader's language.
"""

from typing import Any

from django.utils.translation import gettext_noop
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

PROBLEM = {"$ref": "#/components/schemas/Problem"}
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "RFC 9457. The code is stable and for programs, detail is for people.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "message"],
                "properties": {
                    "field": {"type": "string", "description": "Empty for the whole request."},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                },
            },
        },
    },
}
RETRY_AFTER = {"description": "Seconds.", "required": True, "schema": {"type": "integer"}}
REASONS = {
    400: gettext_noop("The request is not valid."),
    401: gettext_noop("No valid key or session."),
    403: gettext_noop("The key lacks the scope, or may not do this."),
    404: gettext_noop("There is none, or it is somebody else's."),
    409: gettext_noop("Its state does not allow it, or the same request is being answered."),
    412: gettext_noop("It changed since it was read."),
    413: gettext_noop("The body is too large."),
    415: gettext_noop("The body is not application/json."),
    422: gettext_noop(
        "Something is missing, or the Idempotency-Key came with another body before."
    ),
    428: gettext_noop("If-Match is missing."),
    429: gettext_noop("Too many requests."),
    500: gettext_noop("Something went wrong here."),
}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def _header(name: str, description: str, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(
        name, OpenApiTypes.STR, OpenApiParameter.HEADER, required, description=description
    )


IDEMPOTENCY_KEY = _header(
    "Idempotency-Key",
    gettext_noop(
        "Up to 255 visible ASCII characters of your choice. Sent again within 24 hours, the "
        "request acts once and is answered alike."
    ),
)
IF_MATCH = _header(
    "If-Match", gettext_noop("The ETag of what you read; * for whatever there is."), True
)
IF_MATCH_OR_NOT = _header("If-Match", gettext_noop("The ETag of what you read."))
IF_NONE_MATCH = _header(
    "If-None-Match", gettext_noop("An ETag; the answer is 304 if nothing changed.")
)


class ApiSchema(AutoSchema):
    """Adds to every operation the problems it may answer with, and the scope it needs."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        for status in self._statuses(operation):
            operation["responses"][str(status)] = _problem(status)
        names = {parameter["name"] for parameter in operation.get("parameters", [])}
        if "If-None-Match" in names:
            operation["responses"]["304"] = {"description": gettext_noop("You have it already.")}
        if scope := getattr(self.view, "scopes", {}).get(self.method):
            text = operation.get("description", "")
            operation["description"] = f"{text}\n\nNeeds the scope {scope.value}.".strip()
            operation["x-scope"] = scope.value
        return operation

    def get_description(self) -> str:
        """None but what a view says for readers; docstrings are for whoever changes the code."""
        return ""

    def _statuses(self, operation: dict[str, Any]) -> list[int]:
        names = {parameter["name"] for parameter in operation.get("parameters", [])}
        statuses = {429, 500}
        statuses |= {401, 403} if self.view.authentication_classes else set()
        statuses |= {404} if "{" in self.path else set()
        statuses |= {400} if "limit" in names else set()
        statuses |= {409} if self.method in WRITES else set()
        statuses |= {400, 413, 415} if self.method in WRITES and self.method != "DELETE" else set()
        statuses |= {422} if "Idempotency-Key" in names else set()
        statuses |= {412} if "If-Match" in names else set()
        statuses |= {428} if self.method == "PATCH" else set()
        return sorted(statuses)


def _problem(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": REASONS[status],
        "content": {"application/problem+json": {"schema": PROBLEM}},
    }
    return response | ({"headers": {"Retry-After": RETRY_AFTER}} if status == 429 else {})


def add_problem(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular's: the component that all errors refer to."""
    result["components"]["schemas"]["Problem"] = PROBLEM_SCHEMA
    return result


class KeyScheme(OpenApiAuthenticationExtension):
    target_class = "apiv1.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "mdl_ and 38 characters"}


class BrowserScheme(OpenApiAuthenticationExtension):
    target_class = "apiv1.authentication.BrowserSession"
    name = "browser"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        description = "The site's own pages; changes need the X-CSRFToken header as well."
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": description}
