import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import ApiKey, User
from apiv1.models import IdempotentRequest
from portal.models import Coordinator
from tests.apiv1.calling import Caller, problem, with_key
from tests.portal.making import begin_draft

BODY = {"name": "N", "slug": "n", "address": "https://n.example.org"}
ONCE = {"Idempotency-Key": "3f0c"}


def test_twice_sent_acts_once_and_is_answered_alike(owner: Caller) -> None:
    first, second = (owner("POST", "coordinators", BODY, ONCE) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert [first[name] for name in ("Location", "ETag")] == [
        second[name] for name in ("Location", "ETag")
    ]
    assert Coordinator.objects.count() == 1


def test_the_order_of_members_does_not_count(owner: Caller) -> None:
    owner("POST", "coordinators", BODY, ONCE)
    again = owner("POST", "coordinators", dict(reversed(BODY.items())), ONCE)
    assert again.status_code == 201


def test_another_body_is_refused(owner: Caller) -> None:
    owner("POST", "coordinators", BODY, ONCE)
    other = owner("POST", "coordinators", BODY | {"name": "M"}, ONCE)
    problem(other, 422, "idempotency_key_reused")


def test_the_key_is_one_of_its_person_and_address(owner: Caller, stranger: User) -> None:
    owner("POST", "coordinators", BODY, ONCE)
    theirs = BODY | {"slug": "theirs", "address": "https://theirs.example.org"}
    assert with_key(stranger)("POST", "coordinators", theirs, ONCE).status_code == 201
    assert owner("POST", "coordinators/n/withdraw", headers=ONCE).status_code == 200


def test_a_bound_key_is_not_answered_with_what_it_may_not_see(
    owner: Caller, operator: User
) -> None:
    body = {"name": "beat", "scopes": ["heartbeat:write"]}
    assert owner("POST", "coordinators", BODY).status_code == 201
    assert owner("POST", "coordinators/n/submit", headers=ONCE).status_code == 422
    assert owner("POST", "coordinators/n/withdraw", headers=ONCE).status_code == 200
    assert owner("POST", "keys", body, ONCE).status_code == 201
    bound = with_key(operator, coordinator=begin_draft(operator, "other"))
    problem(bound("POST", "coordinators/n/withdraw", headers=ONCE), 404, "not_found")
    problem(bound("POST", "keys", body, ONCE), 403, "beyond_reach")


def test_what_failed_may_be_tried_again(owner: Caller) -> None:
    problem(owner("POST", "coordinators", {}, ONCE), 400, "invalid")
    assert owner("POST", "coordinators", BODY, ONCE).status_code == 201


def test_while_the_first_is_in_flight(owner: Caller, operator: User) -> None:
    owner("POST", "coordinators", BODY, ONCE)
    Coordinator.objects.all().delete()
    row = IdempotentRequest.objects.all()
    row.update(status=None, answer=None)
    problem(owner("POST", "coordinators", BODY, ONCE), 409, "in_flight")
    row.update(claimed_at=timezone.now() - timedelta(seconds=61))
    assert owner("POST", "coordinators", BODY, ONCE).status_code == 201, "a crash left it"


def test_after_a_day_the_key_is_free(owner: Caller) -> None:
    owner("POST", "coordinators", BODY, ONCE)
    long_ago = timezone.now() - timedelta(hours=24, seconds=1)
    IdempotentRequest.objects.update(claimed_at=long_ago)
    problem(owner("POST", "coordinators", BODY, ONCE), 400, "invalid")


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "ı"])
def test_odd_keys_are_refused(owner: Caller, key: str) -> None:
    answer = owner("POST", "coordinators", BODY, {"Idempotency-Key": key})
    problem(answer, 400, "invalid_idempotency_key")


def test_a_secret_is_not_kept(owner: Caller) -> None:
    wish = {"name": "beat", "scopes": ["heartbeat:write"]}
    first, second = (owner("POST", "keys", wish, ONCE).json() for _ in range(2))
    assert first.pop("secret").startswith("mdl_")
    assert second.pop("secret") is None
    assert first == second
    assert "mdl_" not in str(IdempotentRequest.objects.values())
    assert ApiKey.objects.filter(name="beat").count() == 1


@pytest.mark.django_db(transaction=True)
def test_at_once_from_many_threads(owner: Caller) -> None:
    answers: list[Any] = []
    start = threading.Barrier(4)

    def send() -> None:
        start.wait()
        answers.append(owner("POST", "coordinators", BODY, ONCE))
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = [answer.status_code for answer in answers]
    assert 201 in statuses and set(statuses) <= {201, 409}
    # PostgreSQL keeps the members of a stored answer in an order of its own.
    first, *others = (answer.json() for answer in answers if answer.status_code == 201)
    assert all(other == first for other in others)
    assert Coordinator.objects.count() == 1
