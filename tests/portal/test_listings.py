import pytest
from django.db import IntegrityError
from django.test import Client

from accounts.models import User
from portal.listings.approve import approve
from portal.listings.errors import NotAllowed, WrongState
from portal.listings.submit import submit
from portal.models import Coordinator, State


def test_a_draft_becomes_listed(draft: Coordinator, operator: User, admin: User) -> None:
    assert not Coordinator.objects.listed().exists()
    submit(draft, by=operator)
    assert draft.state == State.SUBMITTED and draft.submitted_at
    assert not Coordinator.objects.listed().exists()
    approve(draft, by=admin)
    assert (draft.state, draft.approved_by) == (State.APPROVED, admin)
    assert list(Coordinator.objects.listed()) == [draft]


def test_only_its_operator_submits(draft: Coordinator, stranger: User, admin: User) -> None:
    for other in (stranger, admin):
        with pytest.raises(NotAllowed):
            submit(draft, by=other)
    draft.refresh_from_db()
    assert draft.state == State.DRAFT


def test_only_staff_with_the_permission_approves(
    draft: Coordinator, operator: User, stranger: User
) -> None:
    submit(draft, by=operator)
    stranger.is_staff = True
    stranger.save()
    for other in (operator, stranger):
        with pytest.raises(NotAllowed):
            approve(draft, by=other)
    draft.refresh_from_db()
    assert draft.state == State.SUBMITTED


def test_no_step_is_skipped_or_repeated(draft: Coordinator, operator: User, admin: User) -> None:
    with pytest.raises(WrongState, match="draft"):
        approve(draft, by=admin)
    submit(draft, by=operator)
    with pytest.raises(WrongState, match="submitted"):
        submit(draft, by=operator)
    approve(draft, by=admin)
    with pytest.raises(WrongState, match="approved"):
        approve(draft, by=admin)


def test_a_stale_object_changes_nothing(draft: Coordinator, operator: User, admin: User) -> None:
    stale = Coordinator.objects.get(pk=draft.pk)
    submit(draft, by=operator)
    approve(draft, by=admin)
    with pytest.raises(WrongState):
        submit(stale, by=operator)
    assert stale.state == State.APPROVED


@pytest.mark.django_db
def test_the_database_demands_who_approved(draft: Coordinator) -> None:
    with pytest.raises(IntegrityError):
        Coordinator.objects.filter(pk=draft.pk).update(state=State.APPROVED)


def test_the_administration_approves_and_says_what_it_could_not(
    client: Client, draft: Coordinator, operator: User, admin: User
) -> None:
    client.force_login(admin)
    form = {"action": "approve_selected", "_selected_action": [str(draft.pk)]}
    refused = client.post("/admin/portal/coordinator/", form, follow=True)
    assert b"only a submitted listing can be approved" in refused.content
    submit(draft, by=operator)
    client.post("/admin/portal/coordinator/", form)
    draft.refresh_from_db()
    assert draft.state == State.APPROVED
