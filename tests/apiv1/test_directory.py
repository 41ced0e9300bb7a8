import pytest
from django.core.cache import cache
from django.test import Client

from accounts.create_admin import create_admin
from portal.listings.approve import approve
from portal.listings.submit import submit
from portal.models import Coordinator

pytestmark = pytest.mark.django_db
URL = "/api/v1/directory"


@pytest.fixture(autouse=True)
def _no_earlier_requests() -> None:
    cache.clear()


def list_one(slug: str) -> Coordinator:
    admin = create_admin("admin@example.org", "a long enough passphrase")
    coordinator = Coordinator.objects.create(
        operator=admin, name=slug.title(), slug=slug, address=f"https://{slug}.example.org/c/run"
    )
    submit(coordinator, by=admin)
    approve(coordinator, by=admin)
    return coordinator


def test_the_directory_shows_what_is_approved_and_no_person(client: Client) -> None:
    approved = list_one("first")
    Coordinator.objects.create(
        operator=approved.operator, name="D", slug="draft", address="https://d.example.org"
    )
    response = client.get(URL)
    assert response["Content-Type"] == "application/json"
    [entry] = response.json()["results"]
    assert entry.pop("approved_at")
    assert entry == {
        "slug": "first",
        "name": "First",
        "address": "https://first.example.org/c/run",
        "description": "",
    }
    assert b"admin@example.org" not in response.content


def test_pages_neither_repeat_nor_skip(client: Client) -> None:
    slugs = [list_one(f"c{number:03}").slug for number in range(53)]
    first, second = (client.get(URL, {"page": page}).json() for page in (1, 2))
    assert [entry["slug"] for entry in first["results"] + second["results"]] == slugs
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
