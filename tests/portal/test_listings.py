from collections.abc import Callable

import pytest
from django.core.exceptions import ValidationError

from accounts.models import AuditEvent, User
from portal.listings import decide
from portal.listings.decide import approve, reinstate, reject, request_changes, suspend
from portal.listings.edit import edit
from portal.listings.errors import Incomplete, NotAllowed, Outdated, Taken, WrongState
from portal.listings.submit import submit
from portal.listings.withdraw import withdraw
from portal.models import Coordinator, Proof, State
from tests.portal.making import begin_draft, make_approved, verify

Decision = Callable[[Coordinator, User], None]
DECISIONS: dict[str, Decision] = {
    "approve": approve,
    "request_changes": lambda it, by: request_changes(it, by, "say more"),
    "reject": lambda it, by: reject(it, by, "not a coordinator"),
    "suspend": lambda it, by: suspend(it, by, "complaints"),
    "reinstate": lambda it, by: reinstate(it, by, "solved"),
}
BY_OPERATOR: dict[str, Decision] = {"submit": submit, "withdraw": withdraw}
MOVES = {
    ("draft", "submit"): "submitted",
    ("changes_requested", "submit"): "submitted",
    ("submitted", "approve"): "approved",
    ("submitted", "request_changes"): "changes_requested",
    ("submitted", "reject"): "rejected",
    ("approved", "suspend"): "suspended",
    ("suspended", "reinstate"): "approved",
} | {
    (state.value, "withdraw"): "withdrawn"
    for state in State
    if state not in (State.REJECTED, State.WITHDRAWN)
}


def put_into(coordinator: Coordinator, state: str) -> None:
    Coordinator.objects.filter(pk=coordinator.pk).update(state=state)
    coordinator.refresh_from_db()


@pytest.mark.parametrize("verb", [*DECISIONS, *BY_OPERATOR])
@pytest.mark.parametrize("state", State.values)
def test_every_verb_from_every_state(
    draft: Coordinator, operator: User, admin: User, state: str, verb: str
) -> None:
    put_into(draft, state)
    act, by = (DECISIONS[verb], admin) if verb in DECISIONS else (BY_OPERATOR[verb], operator)
    if target := MOVES.get((state, verb)):
        act(draft, by)
        assert draft.state == target
        assert AuditEvent.objects.filter(verb=verb, actor=by).count() == 1
    else:
        with pytest.raises(WrongState, match=state.replace("_", " ")):
            act(draft, by)
        assert not AuditEvent.objects.filter(verb=verb).exists()


def test_listed_means_approved_and_verified(draft: Coordinator, operator: User, admin: User):
    submit(draft, by=operator)
    approve(draft, by=admin)
    assert (draft.approved_by, bool(draft.submitted_at), bool(draft.approved_at)) == (
        admin,
        True,
        True,
    )
    assert not Coordinator.objects.listed().exists()
    verify(draft)
    assert list(Coordinator.objects.listed()) == [draft]
    suspend(draft, by=admin, message="complaints")
    assert not Coordinator.objects.listed().exists()


@pytest.mark.parametrize("verb", BY_OPERATOR)
def test_only_its_operator(draft: Coordinator, stranger: User, admin: User, verb: str) -> None:
    for other in (stranger, admin):
        with pytest.raises(NotAllowed):
            BY_OPERATOR[verb](draft, other)
    draft.refresh_from_db()
    assert draft.state == State.DRAFT


@pytest.mark.parametrize("verb", DECISIONS)
def test_only_staff_with_the_permission(
    draft: Coordinator, operator: User, stranger: User, verb: str
) -> None:
    stranger.is_staff = True
    stranger.save()
    for other in (operator, stranger):
        with pytest.raises(NotAllowed):
            DECISIONS[verb](draft, other)


def test_a_decision_needs_a_reason(draft: Coordinator, operator: User, admin: User) -> None:
    submit(draft, by=operator)
    with pytest.raises(Incomplete, match="message"):
        reject(draft, by=admin, message="  ")
    draft.refresh_from_db()
    assert draft.state == State.SUBMITTED


def test_an_incomplete_draft_names_every_gap(operator: User) -> None:
    draft = begin_draft(operator, description="", contact=" ")
    with pytest.raises(Incomplete) as refused:
        submit(draft, by=operator)
    assert set(refused.value.fields) == {"description", "contact"}


def test_two_admins_do_not_decide_twice(draft: Coordinator, operator: User, admin: User) -> None:
    submit(draft, by=operator)
    seen_by_second = Coordinator.objects.get(pk=draft.pk)
    request_changes(draft, by=admin, message="say more")
    edit(draft, by=operator, description="More.")
    submit(draft, by=operator)
    with pytest.raises(Outdated):
        approve(seen_by_second, by=admin)
    assert seen_by_second.state == State.SUBMITTED
    approve(draft, by=admin, revision=draft.revision)


SUBJECTS = {
    "approve": ("approved", "onaylandı"),
    "request_changes": ("please change", "değiştirin"),
    "reject": ("not accepted", "kabul edilmedi"),
    "suspend": ("suspended", "askıya"),
    "reinstate": ("back", "geri"),
}


@pytest.mark.needs("gettext")
@pytest.mark.parametrize("language", ["en", "tr"])
@pytest.mark.parametrize(("source", "verb"), [move for move in MOVES if move[1] in DECISIONS])
def test_every_decision_is_mailed_and_audited_with_its_reason(
    draft: Coordinator, operator: User, admin: User, mailoutbox,
    django_capture_on_commit_callbacks, source: str, verb: str, language: str,
) -> None:  # fmt: skip
    operator.language = language
    operator.save()
    put_into(draft, source)
    with django_capture_on_commit_callbacks(execute=True):
        getattr(decide, verb)(draft, by=admin, message="Which <dump> & why?")
    [mail] = mailoutbox
    assert mail.to == [operator.email]
    assert draft.name in mail.subject
    assert SUBJECTS[verb][language == "tr"] in mail.subject
    assert "Which <dump> & why?" in mail.body
    event = AuditEvent.objects.get(verb=verb)
    assert event.detail == {
        "from": source, "to": MOVES[source, verb], "message": "Which <dump> & why?",
    }  # fmt: skip


def test_the_admins_words_are_shown_while_they_demand_something(
    draft: Coordinator, operator: User, admin: User
) -> None:
    submit(draft, by=operator)
    request_changes(draft, by=admin, message="Say more.")
    assert draft.demand == "Say more."
    submit(draft, by=operator)
    assert draft.demand == ""
    approve(draft, by=admin, message="Welcome.")
    assert (draft.message, draft.demand) == ("Welcome.", "")


def test_a_new_address_loses_proof_and_approval(operator: User, admin: User) -> None:
    coordinator = make_approved(operator, admin)
    verify(coordinator)
    token = coordinator.proof_token
    edit(coordinator, by=operator, description="Better words.")
    assert (coordinator.state, coordinator.proof) == (State.APPROVED, Proof.VERIFIED)
    edit(coordinator, by=operator, address="https://new.example.org/c/demo")
    assert (coordinator.state, coordinator.proof) == (State.SUBMITTED, Proof.UNVERIFIED)
    assert coordinator.proof_token != token
    assert coordinator.submitted_at and coordinator.approved_at
    assert coordinator.submitted_at > coordinator.approved_at, "it waits in the queue since now"
    event = AuditEvent.objects.filter(verb="edit").first()
    assert event and event.detail == {"fields": ["address"], "to": "submitted"}


def test_an_address_belongs_to_one_listing(operator: User, stranger: User, admin: User) -> None:
    first = make_approved(operator, admin)
    second = begin_draft(stranger, "second", address=first.address)
    with pytest.raises(Taken, match="address already"):
        submit(second, by=stranger)
    second.refresh_from_db()
    assert second.state == State.DRAFT


def test_nobody_holds_names_without_end(operator: User, stranger: User, monkeypatch) -> None:
    monkeypatch.setattr("portal.listings.edit.MOST_OPEN", 2)
    first, _second = begin_draft(operator, "one"), begin_draft(operator, "two")
    with pytest.raises(ValidationError, match="Withdraw one first"):
        begin_draft(operator, "three")
    begin_draft(stranger, "three")
    withdraw(first, by=operator)
    begin_draft(operator, "four")


def test_what_an_edit_refuses(draft: Coordinator, operator: User, stranger: User) -> None:
    with pytest.raises(NotAllowed):
        edit(draft, by=stranger, name="Mine")
    with pytest.raises(NotAllowed, match="state"):
        edit(draft, by=operator, state="approved")
    with pytest.raises(ValidationError, match="language codes"):
        edit(draft, by=operator, languages="Turkish")
    draft.refresh_from_db()
    edit(draft, by=operator, slug="other")
    with pytest.raises(Outdated):
        edit(draft, by=operator, revision=0, name="Late")
    submit(draft, by=operator)
    with pytest.raises(WrongState, match="short name"):
        edit(draft, by=operator, slug="third")
