"""Callers of the API."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.test import Client

from accounts.keys.create import create_key
from accounts.keys.scopes import Scope
from accounts.models import User
from portal.models import Coordinator

if TYPE_CHECKING:  # the type checker's name for what the test client returns
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

ROOT = "/api/v1/"
ALL_SCOPES = tuple(Scope.values)


class Caller:
    """Sends JSON; ``path`` is relative to the API's root."""

    def __init__(self, client: Client, **headers: str) -> None:
        self.client, self.headers = client, headers

    def __call__(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> "Answer":
        send = getattr(self.client, method.lower())
        given = {} if method == "GET" else {"data": "", "content_type": "application/json"}
        given |= {} if body is None else {"data": body}
        return send(ROOT + path, headers=self.headers | (headers or {}), **given)


def with_key(
    user: User, scopes: Collection[str] = ALL_SCOPES, coordinator: Coordinator | None = None
) -> Caller:
    """The user by a new key."""
    _key, secret = create_key(user, "test", scopes, coordinator, 30)
    return Caller(Client(), Authorization=f"Bearer {secret}")


def anonymous() -> Caller:
    return Caller(Client())


def problem(response: "Answer", status: int, code: str) -> dict[str, Any]:
    """The problem that the response has to be."""
    body = response.json()
    assert (response.status_code, body.get("code")) == (status, code), body
    assert response["Content-Type"] == "application/problem+json"
    assert body["status"] == status
    assert body["type"] and body["title"] and body["detail"]
    return body
