from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.listings.decide import suspend
from portal.models import Coordinator, Proof
from tests.apiv1.calling import anonymous, problem
from tests.portal.making import begin_draft, make_approved, make_listed


def slugs(query: str = "") -> list[str]:
    body = anonymous()("GET", f"directory{query}").json()
    return [entry["slug"] for entry in body["results"]]


def test_an_entry_shows_the_coordinator_and_no_person(listed: Coordinator) -> None:
    receive(listed, Beat(1, "acik", 3, 40, 7, 2.5, "modelen/0.1"))
    response = anonymous()("GET", "directory")
    [entry] = response.json()["results"]
    times = ("created_at", "approved_at", "verified_at", "heartbeat_at")
    assert all(entry.pop(name) for name in times)
    assert entry == {
        "slug": "listed",
        "name": "Listed",
        "address": "https://listed.example.org/c/listed",
        "description": "Turkish for a small model.",
        "base_model": "Qwen/Qwen3-0.6B",
        "mode": "cpt",
        "languages": ["tr", "en"],
        "data_source": "Wikipedia",
        "data_licence": "CC BY-SA 4.0",
        "hardware": "",
        "proof": "verified",
        "presence": "online",
        "run_status": "acik",
        "round": 3,
        "rounds": 40,
        "workers": 7,
        "loss": 2.5,
        "software": "modelen/0.1",
    }
    assert b"team@example.org" not in response.content


def test_one_entry_has_its_losses_and_uptime(listed: Coordinator) -> None:
    receive(listed, Beat(1, "acik", 1, 40, 7, 3.0))
    receive(listed, Beat(2, "acik", 2, 40, 7, 2.5))
    response = anonymous()("GET", "directory/listed")
    assert response.json()["losses"] == [{"round": 1, "loss": 3.0}, {"round": 2, "loss": 2.5}]
    assert response.json()["uptime_90"] == pytest.approx(1)


def test_an_entry_that_is_known_is_not_sent_again(listed: Coordinator) -> None:
    tag = anonymous()("GET", "directory/listed")["ETag"]
    again = anonymous()("GET", "directory/listed", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    receive(listed, Beat(1, "acik"))
    changed = anonymous()("GET", "directory/listed", headers={"If-None-Match": tag})
    assert changed.status_code == 200


def test_only_what_is_approved_and_proven(operator: User, admin: User) -> None:
    begin_draft(operator, "draft")
    make_approved(operator, admin, "unproven")
    suspend(make_listed(operator, admin, "suspended"), admin, "Its data.")
    stale = make_listed(operator, admin, "stale")
    Coordinator.objects.filter(pk=stale.pk).update(proof=Proof.STALE)
    assert slugs() == ["stale"]
    for slug in ("draft", "unproven", "suspended", "nowhere"):
        problem(anonymous()("GET", f"directory/{slug}"), 404, "not_found")


def test_filters_all_have_to_hold(operator: User, admin: User) -> None:
    make_listed(operator, admin, "a", mode="sft", languages="tr,tur")
    make_listed(operator, admin, "b", mode="cpt", languages="en", base_model="other/model")
    receive(make_listed(operator, admin, "c", languages="en,tr"), Beat(1, "acik"))
    assert slugs("?language=tr") == ["c", "a"]
    assert slugs("?language=tur") == ["a"]
    assert slugs("?mode=cpt&language=en") == ["c", "b"]
    assert slugs("?base_model=other/model") == ["b"]
    assert slugs("?presence=online") == ["c"]


@pytest.mark.parametrize("query", ["mode=x", "language=Turkish", "presence=x", "base_model=%00"])
def test_odd_filters_are_refused(query: str, db: None) -> None:
    body = problem(anonymous()("GET", f"directory?{query}"), 400, "invalid")
    assert body["errors"][0]["field"] == query.partition("=")[0]


def test_a_page_costs_one_query(
    operator: User, admin: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(7):
        make_listed(operator, admin, f"c{number}")
    with django_assert_num_queries(1):
        assert len(slugs("?limit=5")) == 5


def test_pages_neither_repeat_nor_skip(operator: User, admin: User) -> None:
    for number in range(5):
        make_listed(operator, admin, f"c{number}")
    Coordinator.objects.update(created_at=timezone.now())
    body = anonymous()("GET", "directory?limit=3&mode=cpt").json()
    rest = slugs("?" + body["next"].partition("?")[2])
    assert [entry["slug"] for entry in body["results"]] + rest == ["c4", "c3", "c2", "c1", "c0"]


def test_scripts_of_other_sites_read_what_is_public_only(listed: Coordinator, owner: Any) -> None:
    from_elsewhere = {"Origin": "https://elsewhere.example.org"}
    for path in ("directory", "directory/listed", "directory/nowhere", "openapi.json"):
        response = anonymous()("GET", path, headers=from_elsewhere)
        assert response["Access-Control-Allow-Origin"] == "*"
        exposed = response["Access-Control-Expose-Headers"].split(", ")
        assert response["X-Request-ID"] and "X-Request-ID" in exposed
        assert not response.has_header("Access-Control-Allow-Credentials")
    for path in ("me", "coordinators/listed"):
        assert not owner("GET", path, headers=from_elsewhere).has_header(
            "Access-Control-Allow-Origin"
        )


def test_too_many_requests_say_when_to_return(listed: Coordinator) -> None:
    answers = [anonymous()("GET", "directory") for _ in range(120)]
    assert {answer.status_code for answer in answers} == {200}
    refused = anonymous()("GET", "directory", headers={"X-Forwarded-For": "198.51.100.1"})
    problem(refused, 429, "throttled")
    assert 0 < int(refused["Retry-After"]) <= 60
