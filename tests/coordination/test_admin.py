"""Django admin shows everything and changes rows by verbs only."""

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.urls import reverse

from coordination.models import Run, Unit

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin_client(client):
    user = get_user_model().objects.create_superuser("admin@example.org", "correct horse 9")
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    "model", [m.__name__.lower() for m in apps.get_app_config("coordination").get_models()]
)
def test_every_table_has_a_page(run, worker, result_file, post_whole, admin_client, model):
    post_whole(worker, worker.lease(), result_file())
    answer = admin_client.get(reverse(f"admin:coordination_{model}_changelist"))
    assert answer.status_code == 200


def test_lease_secrets_are_not_on_its_page(run, worker, admin_client):
    worker.lease()
    from coordination.models import Lease

    lease = Lease.objects.get()
    page = admin_client.get(reverse("admin:coordination_lease_change", args=[lease.pk]))
    assert page.status_code == 200
    assert lease.key_digest not in page.content.decode()


def act(client, model: str, action: str, pk: int):
    url = reverse(f"admin:coordination_{model}_changelist")
    return client.post(url, {"action": action, "_selected_action": [pk]}, follow=True)


def test_pause_resume_and_requeue_are_actions(run, worker, admin_client):
    task = worker.lease()
    act(admin_client, "run", "pause", run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.PAUSED and run.pause_reason == "paused by an admin"
    act(admin_client, "run", "resume", run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.OPEN
    unit = Unit.objects.get(shard=task["parca"])
    act(admin_client, "unit", "requeue", unit.pk)
    unit.refresh_from_db()
    assert unit.state == Unit.State.FREE


def test_staff_who_may_only_look_cannot_requeue(run, worker, client):
    task = worker.lease()
    user = get_user_model().objects.create_user("viewer@example.org", "x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(user)
    act(client, "unit", "requeue", Unit.objects.get(shard=task["parca"]).pk)
    assert Unit.objects.get(shard=task["parca"]).state == Unit.State.LEASED


def test_what_makes_rounds_comparable_cannot_be_edited(run, admin_client):
    url = reverse("admin:coordination_run_change", args=[run.pk])
    page = admin_client.get(url).content.decode()
    assert 'name="round_seconds"' in page and 'name="lr"' not in page and 'name="seed"' not in page


def test_strangers_see_nothing(run, client):
    answer = client.get(reverse("admin:coordination_run_changelist"))
    assert answer.status_code == 302 and "login" in answer.headers["Location"]


def test_the_reason_of_a_pause_is_shown_on_the_run_s_page(run, admin_client, client):
    url = reverse("admin:coordination_run_changelist")
    body = {"action": "pause", "_selected_action": [run.pk], "reason": "back on Monday"}
    admin_client.post(url, body, follow=True)
    client.logout()
    page = client.get(f"/c/{run.slug}/").content.decode()
    assert "back on Monday" in page and "admin@example.org" not in page
