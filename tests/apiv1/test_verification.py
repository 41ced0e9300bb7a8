from django.utils import timezone

from accounts.models import User
from portal.models import Attempt, Coordinator
from portal.verification.request import PER_COORDINATOR
from tests.apiv1.calling import Caller, problem

PATH = "coordinators/draft/verification"


def test_what_to_serve(owner: Caller, draft: Coordinator) -> None:
    body = owner("GET", PATH).json()
    assert body["line"] == f"modelen-verify=v1 draft {draft.proof_token}"
    assert body["url"] == "https://draft.example.org/.well-known/modelen-verification.txt"
    assert body["proof"] == "unverified"
    assert any(body["url"] in command["text"] for command in body["commands"])


def test_a_check_is_queued_and_can_be_watched(owner: Caller, draft: Coordinator) -> None:
    asked = owner("POST", f"{PATH}/check")
    assert asked.status_code == 202
    assert asked.json() | {"trigger": "owner", "code": "", "sentence": ""} == asked.json()
    watched = owner("GET", asked["Location"].removeprefix("/api/v1/"))
    assert watched.json() == asked.json()
    assert owner("POST", f"{PATH}/check").json()["id"] == asked.json()["id"], "it is under way"


def test_evidence_comes_with_words(owner: Caller, draft: Coordinator, operator: User) -> None:
    hop = {"url": "https://draft.example.org/", "status": 404}
    for code in ("dns_not_found", "not_found"):
        draft.attempts.create(
            trigger=Attempt.Trigger.OWNER,
            address=draft.address,
            queued_at=timezone.now(),
            finished_at=timezone.now(),
            code=code,
            hops=[hop],
            received_bytes=0,
        )
    newest, older = owner("GET", f"{PATH}/attempts").json()["results"]
    assert (newest["code"], older["code"]) == ("not_found", "dns_not_found")
    assert newest["hops"] == [hop]
    assert newest["sentence"] and newest["remedy"] and newest["remedy"] != older["remedy"]


def test_checks_have_a_limit_of_their_own(owner: Caller, draft: Coordinator) -> None:
    for _ in range(PER_COORDINATOR[0]):
        assert owner("POST", f"{PATH}/check").status_code == 202
        draft.attempts.update(finished_at=timezone.now(), code="not_found")
    refused = owner("POST", f"{PATH}/check")
    problem(refused, 429, "throttled")
    assert 0 < int(refused["Retry-After"]) <= 600


def test_one_that_has_ended_is_not_checked(owner: Caller, draft: Coordinator) -> None:
    owner("POST", "coordinators/draft/withdraw")
    problem(owner("POST", f"{PATH}/check"), 409, "wrong_state")


def test_an_attempt_belongs_to_its_coordinator(
    owner: Caller, draft: Coordinator, listed: Coordinator
) -> None:
    other = listed.attempts.create(trigger="owner", address="x", queued_at=timezone.now())
    problem(owner("GET", f"{PATH}/attempts/{other.pk}"), 404, "not_found")
    problem(owner("GET", f"{PATH}/attempts/{10**30}"), 404, "not_found")
