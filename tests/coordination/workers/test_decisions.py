"""What a person decides about workers: by verb, by command, in the administration."""

import threading
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.urls import reverse

from coordination.models import Lease, Run, Unit, Worker, WorkerEvent
from coordination.workers.approve import approve_worker
from coordination.workers.block import block_worker
from coordination.workers.pause import pause_worker
from coordination.workers.unblock import unblock_worker
from tests.at_once import at_once
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db

State = Worker.State
VERBS = {
    "approve": approve_worker,
    "pause": pause_worker,
    "block": block_worker,
    "unblock": unblock_worker,
}
OUTCOMES = {
    State.PENDING: {"approve": "approved", "pause": "paused", "block": "blocked"},
    State.APPROVED: {"pause": "paused", "block": "blocked"},
    State.PAUSED: {"block": "blocked", "unblock": "approved"},
    State.BLOCKED: {"unblock": "approved"},
}


@pytest.fixture
def ada(run: Run, worker: WorkerOf) -> Worker:
    """A registered worker with a lease."""
    worker.register()
    worker.lease()
    return Worker.objects.get()


@pytest.fixture
def boss():
    return get_user_model().objects.create_superuser("boss@example.org", "correct horse 9")


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_does_what_it_says_or_nothing(ada, verb, state):
    Worker.objects.update(state=state)
    outcome = OUTCOMES[state].get(verb)
    assert VERBS[verb](ada, "because") is (outcome is not None)
    ada.refresh_from_db()
    assert ada.state == (outcome or state)
    assert ada.events.exclude(verb="registered").count() == (outcome is not None)


def test_every_decision_is_written_down(ada, boss):
    pause_worker(ada, "a question", boss)
    unblock_worker(ada, "answered", boss)
    block_worker(ada, "noise", boss)
    events = WorkerEvent.objects.filter(worker=ada).order_by("pk")
    told = [(event.verb, event.reason, event.actor) for event in events]
    assert told == [
        ("registered", "", None),
        ("paused", "a question", boss),
        ("unblocked", "answered", boss),
        ("blocked", "noise", boss),
    ]


def test_the_record_outlives_the_account_of_whoever_decided(ada, boss):
    block_worker(ada, "noise", boss)
    boss.delete()
    event = WorkerEvent.objects.first()
    assert (event.reason, event.actor) == ("noise", None)


@pytest.mark.parametrize("verb", [pause_worker, block_worker])
def test_its_leases_end_and_its_units_are_free(run, ada, verb):
    bobs = WorkerOf(run, "bob").lease()
    before = Run.objects.get().version
    assert verb(ada, "because")
    states = dict(Lease.objects.values_list("worker__name", "state"))
    assert states == {"ada": "expired", "bob": "live"}
    assert Unit.objects.get(state=Unit.State.LEASED).shard == bobs["parca"]
    assert Run.objects.get().version > before, "watchers are told"


@pytest.mark.django_db(transaction=True)
def test_no_lease_slips_in_beside_a_block(tmp_path):
    """Whichever comes first, a blocked worker holds nothing afterwards."""
    run = make_run(tmp_path, "wide", shards=4)
    for n in range(8):
        ada = WorkerOf(run, f"ada-{n}")
        ada.register()
        row = Worker.objects.get(name=ada.name)
        answers: list[Any] = at_once([ada.ask, partial(block_worker, row, "because")])
        assert answers[1] is True and answers[0].status_code in (200, 204, 403)
        assert not Lease.objects.filter(worker=row, state=Lease.State.LIVE).exists()


@pytest.mark.django_db(transaction=True)
def test_a_name_registered_twice_in_one_instant_has_one_owner(run):
    rivals = [WorkerOf(run) for _ in range(4)]
    answers = at_once([rival.register for rival in rivals])
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    assert Worker.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_registration_sent_twice_at_once_gets_the_same_answer(run):
    twins = [WorkerOf(run) for _ in range(4)]
    token = "mwk_" + "a" * 43
    answers = at_once([partial(twin.register, token) for twin in twins])
    assert {answer.status_code for answer in answers} == {201}
    assert Worker.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_copies_in_one_instant_one_goes_on(tmp_path):
    run = make_run(tmp_path, "wide", shards=8, max_leases_per_worker=8)
    ada = WorkerOf(run)
    ada.register()
    together = threading.Barrier(4)

    def ask():
        together.wait()
        return ada.ask(sira=5)

    answers = at_once([ask] * 4)
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert Worker.objects.get().copies_seen == 3


# The command


def told(*arguments: str) -> str:
    out = StringIO()
    call_command("workers", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_lists_and_decides(tmp_path):
    run = make_run(tmp_path, "closed", open_to_all=False)
    WorkerOf(run).register()
    assert "ada" in told("closed") and "pending" in told("closed", "--state", "pending")
    assert told("closed", "approve", "ada") == "ada: approved\n"
    assert told("closed", "--state", "pending") == ""
    assert told("closed", "pause", "ada", "--reason", "a question") == "ada: paused\n"
    assert "a question" in told("closed")
    assert told("closed", "unblock", "ada") == "ada: approved\n"


def test_the_command_tells_the_two_rows_of_a_name_apart(run, worker):
    worker.lease()
    with pytest.raises(CommandError, match="--unregistered"):
        told("tiny", "block", "ada", "--reason", "noise")
    worker.register()
    assert told("tiny", "block", "ada", "--reason", "noise", "--unregistered") == "ada: blocked\n"
    states = {row.is_registered: row.state for row in Worker.objects.all()}
    assert states == {True: "approved", False: "blocked"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pause", "ada"], "--reason"),
        (["block", "ada", "--reason", "  "], "--reason"),
        (["approve", "ada"], "cannot be done now"),
        (["approve"], "name the worker"),
        (["approve", "nobody"], "unknown"),
    ],
)
def test_the_command_says_what_is_missing(ada, arguments, message):
    with pytest.raises(CommandError, match=message):
        told("tiny", *arguments)
    assert Worker.objects.get().state == State.APPROVED


# The administration


def act(client, action: str, worker: Worker, **fields: str):
    url = reverse("admin:coordination_worker_changelist")
    body = {"action": action, "_selected_action": [worker.pk]} | fields
    return client.post(url, body, follow=True)


def test_an_admin_decides_with_a_reason(client, boss, ada):
    client.force_login(boss)
    page = act(client, "pause", ada)
    assert "Write a reason" in page.content.decode()
    ada.refresh_from_db()
    assert ada.state == State.APPROVED
    act(client, "pause", ada, reason="a question")
    ada.refresh_from_db()
    assert (ada.state, ada.state_reason) == (State.PAUSED, "a question")
    assert WorkerEvent.objects.first().actor == boss
    assert "stays as it is" in act(client, "approve", ada).content.decode()
    act(client, "unblock", ada)
    ada.refresh_from_db()
    assert (ada.state, ada.state_reason) == (State.APPROVED, "")


def test_registered_workers_and_strangers_are_filtered(client, boss, ada):
    WorkerOf(ada.run, "bob").lease()
    client.force_login(boss)
    url = reverse("admin:coordination_worker_changelist")
    for value, names in (("yes", {"ada"}), ("no", {"bob"}), ("", {"ada", "bob"})):
        answer = client.get(url, {"registered": value} if value else {})
        assert {row.name for row in answer.context["cl"].result_list} == names


def test_the_page_of_a_worker_shows_its_history_and_no_secret(client, boss, ada):
    client.force_login(boss)
    block_worker(ada, "results made of noise", boss)
    url = reverse("admin:coordination_worker_change", args=[ada.pk])
    page = client.get(url).content.decode()
    assert "results made of noise" in page and "boss@example.org" in page
    assert ada.token_digest not in page


def test_who_may_only_look_is_offered_no_decision(client, ada):
    viewer = get_user_model().objects.create_user("eye@example.org", "x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_worker"))
    client.force_login(viewer)
    act(client, "block", ada, reason="because")
    ada.refresh_from_db()
    assert ada.state == State.APPROVED
