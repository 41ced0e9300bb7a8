from typing import Any

import pytest
from django.conf import settings

from accounts.models import User
from portal.listings.withdraw import withdraw
from portal.models import Coordinator, Presence
from tests.apiv1.calling import Caller, problem, with_key

PATH = "coordinators/listed/heartbeat"
BEAT = {
    "seq": 7, "status": "acik", "round": 3, "rounds": 40, "workers": 2, "loss": 2.5,
    "software": "modelen/0.1",
}  # fmt: skip


def test_it_is_noted_and_answered(owner: Caller, listed: Coordinator) -> None:
    response = owner("PUT", PATH, BEAT)
    assert response.json() == {"interval_s": settings.HEARTBEAT_SECONDS, "seq": 7}
    listed.refresh_from_db()
    assert (listed.presence, listed.round, listed.loss) == (Presence.ONLINE, 3, 2.5)


def test_an_older_one_changes_nothing(owner: Caller, listed: Coordinator) -> None:
    owner("PUT", PATH, BEAT)
    again = owner("PUT", PATH, BEAT | {"seq": 6, "round": 2})
    assert again.json()["seq"] == 7
    listed.refresh_from_db()
    assert listed.round == 3


def test_what_is_not_known_is_left_out_or_null(owner: Caller, listed: Coordinator) -> None:
    assert owner("PUT", PATH, {"seq": 1, "status": "hazir"}).status_code == 200
    nothing = {"round": None, "rounds": None, "workers": None, "loss": None}
    assert owner("PUT", PATH, {"seq": 2, "status": "hazir", **nothing}).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seq", 0), ("seq", 2**63), ("seq", "x"), ("seq", 10**400), ("status", "open"),
        ("round", 0), ("round", 10**7), ("rounds", -1), ("workers", -1), ("workers", 10**7),
        ("loss", -1), ("loss", 1e5), ("loss", "NaN"), ("loss", "Infinity"),
        ("software", "x" * 81), ("software", "a\x01"), ("software", {}),
    ],
)  # fmt: skip
def test_odd_values_are_named(owner: Caller, listed: Coordinator, field: str, value: Any) -> None:
    body = problem(owner("PUT", PATH, BEAT | {field: value}), 400, "invalid")
    assert {error["field"] for error in body["errors"]} == {field}
    listed.refresh_from_db()
    assert listed.presence == Presence.NEVER


def test_one_that_has_ended_takes_none(owner: Caller, operator: User, listed: Coordinator) -> None:
    withdraw(listed, operator)
    problem(owner("PUT", PATH, BEAT), 409, "wrong_state")


def test_a_bound_key_of_just_that_scope_will_do(operator: User, listed: Coordinator) -> None:
    caller = with_key(operator, ["heartbeat:write"], listed)
    assert caller("PUT", PATH, BEAT).status_code == 200
    problem(caller("GET", "coordinators/listed"), 403, "missing_scope")
