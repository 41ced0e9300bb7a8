import pytest

from accounts.models import AuditEvent, User
from portal.listings.decide import request_changes
from portal.models import Coordinator, Proof, State
from tests.apiv1.calling import Caller, problem, with_key
from tests.portal.making import begin_draft, make_listed

APPLICATION = {
    "name": "Vikipedi",
    "slug": "vikipedi",
    "address": "https://vikipedi.example.org/c/vikipedi",
    "description": "Turkish for a small model.",
    "base_model": "Qwen/Qwen3-0.6B",
    "mode": "cpt",
    "languages": ["tr", "en"],
    "data_source": "Wikipedia",
    "data_licence": "CC BY-SA 4.0",
    "contact": "team@example.org",
    "hardware": "8 GB of GPU memory",
}


def test_from_the_draft_to_the_queue(owner: Caller, operator: User) -> None:
    made = owner("POST", "coordinators", APPLICATION)
    assert made.status_code == 201
    assert made["Location"] == "/api/v1/coordinators/vikipedi"
    assert made.json() | APPLICATION == made.json()
    assert made.json()["state"] == "draft"
    submitted = owner("POST", "coordinators/vikipedi/submit")
    assert submitted.json()["state"] == "submitted"
    assert Coordinator.objects.get().languages == "tr,en"
    verbs = AuditEvent.objects.filter(target="coordinator:vikipedi", actor=operator)
    assert set(verbs.values_list("verb", flat=True)) == {"begin", "submit"}


def test_what_is_missing_is_named(owner: Caller) -> None:
    few = {name: APPLICATION[name] for name in ("name", "slug", "address")}
    owner("POST", "coordinators", few)
    body = problem(owner("POST", "coordinators/vikipedi/submit"), 422, "incomplete")
    assert {"description", "contact"} <= {error["field"] for error in body["errors"]}


def test_names_and_addresses_are_taken_once(owner: Caller, listed: Coordinator) -> None:
    taken = owner("POST", "coordinators", APPLICATION | {"slug": listed.slug})
    body = problem(taken, 400, "invalid")
    assert [error["field"] for error in body["errors"]] == ["slug"]
    owner("POST", "coordinators", APPLICATION | {"address": listed.address})
    problem(owner("POST", "coordinators/vikipedi/submit"), 409, "conflict")
    assert Coordinator.objects.get(slug="vikipedi").state == State.DRAFT


def test_what_only_admins_decide_cannot_be_written(owner: Caller) -> None:
    wishes = {"state": "approved", "proof": "verified", "revision": 9, "presence": "online"}
    body = owner("POST", "coordinators", APPLICATION | wishes).json()
    found = {name: body[name] for name in wishes}
    assert found == {
        "state": "draft", "proof": "unverified", "revision": 0, "presence": "never",
    }  # fmt: skip


def test_a_bound_key_begins_nothing(operator: User, draft: Coordinator) -> None:
    caller = with_key(operator, coordinator=draft)
    problem(caller("POST", "coordinators", APPLICATION), 403, "bound_key")


def test_an_update_names_what_was_read(owner: Caller, draft: Coordinator) -> None:
    path = f"coordinators/{draft.slug}"
    problem(owner("PATCH", path, {"name": "New"}), 428, "if_match_missing")
    tag = owner("GET", path)["ETag"]
    first = owner("PATCH", path, {"name": "First"}, {"If-Match": tag})
    assert first.json()["name"] == "First"
    second = owner("PATCH", path, {"name": "Second"}, {"If-Match": tag})
    problem(second, 412, "outdated")
    third = owner("PATCH", path, {"name": "Third"}, {"If-Match": first["ETag"]})
    assert third.json()["name"] == "Third"


@pytest.mark.parametrize("tag", ["0", 'W/"0"', '"x"', '"0", "1"', '"' + "9" * 30 + '"', ""])
def test_odd_tags_match_nothing(owner: Caller, draft: Coordinator, tag: str) -> None:
    path = f"coordinators/{draft.slug}"
    problem(owner("PATCH", path, {"name": "New"}, {"If-Match": tag}), 412, "outdated")


def test_a_heartbeat_is_no_edit(owner: Caller, draft: Coordinator) -> None:
    path = f"coordinators/{draft.slug}"
    before = owner("GET", path)["ETag"]
    assert owner("GET", path, headers={"If-None-Match": before}).status_code == 304
    owner("PUT", f"{path}/heartbeat", {"seq": 1, "status": "acik"})
    changed = owner("GET", path, headers={"If-None-Match": before})
    assert changed.status_code == 200 and changed["ETag"] != before
    assert owner("PATCH", path, {"name": "New"}, {"If-Match": before}).status_code == 200


@pytest.mark.parametrize("verb", ["submit", "withdraw"])
def test_verbs_heed_a_tag_that_is_given(owner: Caller, draft: Coordinator, verb: str) -> None:
    path = f"coordinators/{draft.slug}"
    tag = owner("GET", path)["ETag"]
    owner("PATCH", path, {"name": "New"}, {"If-Match": tag})
    problem(owner("POST", f"{path}/{verb}", headers={"If-Match": tag}), 412, "outdated")
    assert owner("POST", f"{path}/{verb}").status_code == 200


def test_a_new_address_is_unproven(owner: Caller, listed: Coordinator) -> None:
    path = f"coordinators/{listed.slug}"
    new = {"address": "https://moved.example.org"}
    body = owner("PATCH", path, new, {"If-Match": "*"}).json()
    assert (body["state"], body["proof"]) == (State.SUBMITTED, Proof.UNVERIFIED)


def test_an_admin_s_message_is_read_and_answered(
    owner: Caller, operator: User, admin: User, draft: Coordinator
) -> None:
    path = f"coordinators/{draft.slug}"
    owner("POST", f"{path}/submit")
    draft.refresh_from_db()
    request_changes(draft, admin, "Which licence?")
    body = owner("GET", path).json()
    assert (body["state"], body["message"]) == ("changes_requested", "Which licence?")
    assert owner("POST", f"{path}/submit").json()["state"] == "submitted"


def test_what_the_state_does_not_allow(owner: Caller, listed: Coordinator) -> None:
    problem(owner("POST", "coordinators/listed/submit"), 409, "wrong_state")
    problem(
        owner("PATCH", "coordinators/listed", {"slug": "x"}, {"If-Match": "*"}), 409, "wrong_state"
    )
    assert owner("POST", "coordinators/listed/withdraw").json()["state"] == "withdrawn"
    problem(owner("POST", "coordinators/listed/withdraw"), 409, "wrong_state")


@pytest.mark.parametrize("address", ["https://127.0.0.1", "http://a.example.org", "x", ""])
def test_addresses_that_nobody_may_have(owner: Caller, address: str) -> None:
    answer = owner("POST", "coordinators", APPLICATION | {"address": address})
    assert problem(answer, 400, "invalid")["errors"][0]["field"] == "address"


def test_pages_neither_repeat_nor_skip_while_rows_are_added(
    owner: Caller, operator: User, admin: User
) -> None:
    for number in range(5):
        begin_draft(operator, f"c{number}")
    # All of one moment, so that only the id tells them apart.
    first = Coordinator.objects.order_by("id").first()
    Coordinator.objects.update(created_at=first.created_at)
    seen, path = [], "coordinators?limit=2"
    while path:
        body = owner("GET", path).json()
        seen += [row["slug"] for row in body["results"]]
        path = (body["next"] or "").partition("/api/v1/")[2]
        make_listed(operator, admin, f"new{len(seen)}")
    assert seen == ["c4", "c3", "c2", "c1", "c0"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("cursor=x", "invalid_cursor"),
        ("cursor=%00", "invalid_cursor"),
        ("cursor=é", "invalid_cursor"),
        ("cursor=MjAyNi0wMS0wMSAx", "invalid_cursor"),  # no time zone
        ("limit=0", "invalid_limit"),
        ("limit=201", "invalid_limit"),
        ("limit=١", "invalid_limit"),
    ],
)
def test_odd_pages_are_refused(owner: Caller, query: str, code: str) -> None:
    problem(owner("GET", f"coordinators?{query}"), 400, code)
