import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from accounts.models import User
from portal.listings.edit import edit
from portal.listings.submit import submit
from portal.models import Attempt, Coordinator, State

LIST = "/admin/portal/coordinator/"


@pytest.fixture(autouse=True)
def _no_second_factor(settings) -> None:
    settings.STAFF_NEED_SECOND_FACTOR = False


@pytest.fixture
def submitted(draft: Coordinator, operator: User) -> Coordinator:
    submit(draft, by=operator)
    return draft


@pytest.fixture
def as_admin(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


def form(coordinator: Coordinator, action: str, **more: object) -> dict:
    chosen = {"action": action, "_selected_action": [coordinator.pk]}
    return chosen | {f"revision-{coordinator.pk}": coordinator.revision} | more


def state(coordinator: Coordinator) -> str:
    coordinator.refresh_from_db()
    return coordinator.state


def test_the_queue_counts_and_filters(as_admin: Client, submitted: Coordinator) -> None:
    page = as_admin.get(LIST, {"state__exact": "submitted"}).content.decode()
    assert submitted.name in page and "submitted (1)" in page and "approved (0)" in page
    assert submitted.address not in as_admin.get(LIST, {"state__exact": "draft"}).content.decode()


def test_one_page_has_the_application_its_evidence_and_its_history(
    as_admin: Client, submitted: Coordinator
) -> None:
    Attempt.objects.create(
        coordinator=submitted, trigger="owner", address=submitted.address, code="tls_invalid",
        queued_at=timezone.now(), hops=[{"url": "https://x/", "addresses": ["192.0.2.7"]}],
    )  # fmt: skip
    page = as_admin.get(f"{LIST}{submitted.pk}/change/").content.decode()
    for text in ("CC BY-SA 4.0", "tls_invalid", "no valid certificate", "192.0.2.7", "begin"):
        assert text in page
    for text in ("Approve", "Ask for changes", "Reject"):
        assert f">{text}…<" in page
    assert ">Check the address now<" in page
    assert "Suspend…" not in page and 'name="_save"' not in page


def test_a_decision_is_confirmed_first(as_admin: Client, submitted: Coordinator) -> None:
    asked = as_admin.post(LIST, form(submitted, "request_changes"))
    assert b'name="message"' in asked.content and b"required" in asked.content
    assert state(submitted) == State.SUBMITTED
    as_admin.post(LIST, form(submitted, "request_changes", confirmed="yes", message="Which dump?"))
    assert (state(submitted), submitted.message) == (State.CHANGES_REQUESTED, "Which dump?")


def test_approve_suspend_reinstate(as_admin: Client, submitted: Coordinator) -> None:
    for action, expected in (
        ("approve", "approved"),
        ("suspend", "suspended"),
        ("reinstate", "approved"),
    ):
        as_admin.post(LIST, form(submitted, action, confirmed="yes", message="for a reason"))
        assert (state(submitted), submitted.message) == (expected, "for a reason")


def test_an_approval_may_be_without_a_word(as_admin: Client, submitted: Coordinator) -> None:
    asked = as_admin.post(LIST, form(submitted, "approve"))
    assert b'name="message"' in asked.content and b"required" not in asked.content
    as_admin.post(LIST, form(submitted, "approve", confirmed="yes", message=""))
    assert state(submitted) == State.APPROVED


def test_the_address_is_checked_by_a_button(as_admin: Client, submitted: Coordinator) -> None:
    answer = as_admin.post(LIST, form(submitted, "check_address"), follow=True)
    assert answer.redirect_chain[-1][0] == f"{LIST}{submitted.pk}/change/"
    page = answer.content.decode()
    assert "We are looking." in page and "Under way" in page
    [attempt] = submitted.attempts.all()
    assert (attempt.trigger, attempt.address) == ("admin", submitted.address)


def test_admins_have_the_same_limit(as_admin: Client, submitted: Coordinator) -> None:
    for _time in range(6):
        Attempt.objects.update(finished_at=timezone.now(), code="not_found")
        answer = as_admin.post(LIST, form(submitted, "check_address"), follow=True)
    assert "too many checks" in answer.content.decode()
    assert Attempt.objects.count() == 5


def test_of_much_evidence_the_newest_is_shown(as_admin: Client, submitted: Coordinator) -> None:
    for number in range(60):
        Attempt.objects.create(
            coordinator=submitted, trigger="schedule", address=submitted.address, code="ok",
            queued_at=timezone.now(), received_bytes=1000 + number,
        )  # fmt: skip
    page = as_admin.get(f"{LIST}{submitted.pk}/change/").content.decode()
    assert "1059" in page and "1010" in page and "1009" not in page


def test_without_a_reason_nothing_happens(as_admin: Client, submitted: Coordinator) -> None:
    answer = as_admin.post(
        LIST, form(submitted, "reject", confirmed="yes", message=" "), follow=True
    )
    assert b"Write a reason" in answer.content
    assert state(submitted) == State.SUBMITTED


def test_what_changed_meanwhile_is_not_decided(
    as_admin: Client, submitted: Coordinator, operator: User
) -> None:
    seen = form(submitted, "approve", confirmed="yes")
    edit(submitted, by=operator, description="Something else altogether.")
    answer = as_admin.post(LIST, seen, follow=True)
    assert b"changed since you read it" in answer.content
    assert state(submitted) == State.SUBMITTED


def test_the_second_of_two_decisions_is_told_so(as_admin: Client, submitted: Coordinator) -> None:
    seen = form(submitted, "approve", confirmed="yes")
    as_admin.post(LIST, seen)
    answer = as_admin.post(LIST, seen, follow=True)
    assert b"it is now: approved" in answer.content


def test_what_has_ended_offers_no_decision(as_admin: Client, submitted: Coordinator) -> None:
    as_admin.post(LIST, form(submitted, "reject", confirmed="yes", message="no coordinator"))
    page = as_admin.get(f"{LIST}{submitted.pk}/change/").content.decode()
    assert 'name="action"' not in page


def test_nothing_is_edited_added_or_deleted_here(as_admin: Client, submitted: Coordinator) -> None:
    change = f"{LIST}{submitted.pk}/change/"
    assert as_admin.post(change, {"state": "approved", "name": "X"}).status_code == 403
    assert as_admin.get(f"{LIST}add/").status_code == 403
    assert as_admin.post(f"{LIST}{submitted.pk}/delete/", {"post": "yes"}).status_code == 403
    assert state(submitted) == State.SUBMITTED


@pytest.mark.parametrize("who", ["operator", "stranger", "anonymous", "staff"])
def test_nobody_else_decides(
    client: Client, submitted: Coordinator, operator: User, stranger: User, who: str
) -> None:
    """Staff here may see the queue, and decide nothing."""
    if who == "staff":
        stranger.is_staff = True
        stranger.save()
        stranger.user_permissions.add(Permission.objects.get(codename="view_coordinator"))
    if who != "anonymous":
        client.force_login(operator if who == "operator" else stranger)
    client.post(LIST, form(submitted, "approve", confirmed="yes"))
    client.post(LIST, form(submitted, "check_address"))
    assert state(submitted) == State.SUBMITTED and not Attempt.objects.exists()
    page = client.get(f"{LIST}{submitted.pk}/change/")
    assert page.status_code == (200 if who == "staff" else 302)
    assert b'name="action"' not in page.content
