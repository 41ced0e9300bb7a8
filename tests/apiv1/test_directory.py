import pytest
from django.core.cache import cache
from django.test import Client

from accounts.create_admin import create_admin
from tests.portal.making import begin_draft, make_listed

pytestmark = pytest.mark.django_db
URL = "/api/v1/directory"


@pytest.fixture(autouse=True)
def _no_earlier_requests() -> None:
    cache.clear()


def list_one(slug: str) -> None:
    admin = create_admin("admin@example.org", "a long enough passphrase")
    make_listed(admin, admin, slug)


def test_the_directory_shows_what_is_approved_and_no_person(client: Client) -> None:
    list_one("first")
    begin_draft(create_admin("admin@example.org", "a long enough passphrase"), "draft")
    response = client.get(URL)
    assert response["Content-Type"] == "application/json"
    [entry] = response.json()["results"]
    assert entry.pop("approved_at")
    assert entry == {
        "slug": "first",
        "name": "First",
        "address": "https://first.example.org/c/first",
        "description": "Turkish for a small model.",
    }
    assert b"admin@example.org" not in response.content


def test_pages_neither_repeat_nor_skip(client: Client) -> None:
    slugs = [f"c{number:03}" for number in range(53)]
    for slug in slugs:
        list_one(slug)
    first, second = (client.get(URL, {"page": page}).json() for page in (1, 2))
    assert [entry["slug"] for entry in first["results"] + second["results"]] == slugs[::-1]
    assert second["next"] is None


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("get", URL + "?page=99", 404, "not_found"), ("post", URL, 405, "method_not_allowed")],
)
def test_errors_are_problems(
    client: Client, method: str, path: str, status: int, code: str
) -> None:
    response = getattr(client, method)(path)
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], body["code"]) == (status, code)
    assert body["title"] and body["detail"] and body["type"]


def test_too_many_requests_say_when_to_return(client: Client) -> None:
    responses = [client.get(URL) for _ in range(121)]
    assert {response.status_code for response in responses[:120]} == {200}
    refused = responses[120]
    assert refused.status_code == 429
    assert refused.json()["code"] == "throttled"
    assert 0 < int(refused["Retry-After"]) <= 60


def test_a_forged_header_does_not_lift_the_limit(client: Client) -> None:
    for number in range(120):
        client.get(URL, headers={"X-Forwarded-For": f"192.0.2.{number}"})
    assert client.get(URL, headers={"X-Forwarded-For": "198.51.100.1"}).status_code == 429
