"""Django admin shows everything and changes rows by verbs only."""

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import translation

from coordination.models import Check, Run, Unit, Worker, WorkerTraffic
from tests.coordination.pages.conftest import compiled_turkish

pytestmark = pytest.mark.django_db

__all__ = ["compiled_turkish"]  # a fixture


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


def check_with(run, evidence: list[dict]) -> Check:
    """A check of the only result, whose worker is ada."""
    check = Check.objects.get(result__unit__round__run=run)
    check.evidence, check.state = evidence, Check.State.INVALID
    check.save()
    return check


def test_evidence_is_a_table_of_repetitions_and_measurements(
    run, worker, result_file, post_whole, admin_client
):
    post_whole(worker, worker.lease(), result_file())
    repetition = {
        "lease": 1, "against": 2, "workers": ["ada", "<b>bob</b>"], "relative": None,
        "cosine": 0.9987, "tolerance": 0.05, "dtypes": ["float32", "bfloat16"],
        "devices": ["cpu, 8 threads", "NVIDIA H200"], "agrees": False,
    }  # fmt: skip
    measurement = {
        "lease": 3, "workers": ["ada", "cem"], "language": "tr", "losses": [], "harm": 0.1512,
        "own": -0.25, "other": None, "dtype": "float32", "device": "cpu", "agrees": False,
    }  # fmt: skip
    check = check_with(run, [repetition, measurement])
    page = admin_client.get(reverse("admin:coordination_check_change", args=[check.pk]))
    html = page.content.decode()
    for told in (
        "&lt;b&gt;bob&lt;/b&gt;",
        "∞",
        "0.9987",
        "bfloat16 / float32",
        "-0.2500",
        "0.1512",
    ):
        assert told in html, told
    assert "&quot;relative&quot;" not in html and "<b>bob" not in html
    rows = admin_client.get(reverse("admin:coordination_check_changelist")).content.decode()
    assert "∞ / 0.05; -0.25, –, 0.151" in rows


def test_a_worker_s_page_tells_its_traffic(run, worker, admin_client):
    worker.ask()
    of_worker = Worker.objects.get()
    url = reverse("admin:coordination_worker_change", args=[of_worker.pk])
    assert "0 B / 0 B" in admin_client.get(url).content.decode()
    WorkerTraffic.objects.create(worker=of_worker, bytes_up=40_400_000, bytes_down=999)
    assert "40.4 MB / 999 B" in admin_client.get(url).content.decode()


@pytest.mark.needs("gettext")
def test_every_field_speaks_turkish(compiled_turkish):
    """A label without a translation is one that nobody wrote."""
    models = apps.get_app_config("coordination").get_models()
    fields = [f for m in models for f in m._meta.local_fields if f.name != "id"]
    with translation.override("tr"):
        turkish = {f"{f.model.__name__}.{f.name}": str(f.verbose_name) for f in fields}
    with translation.override("en"):
        english = {f"{f.model.__name__}.{f.name}": str(f.verbose_name) for f in fields}
    same = {turkish[name] for name in turkish if turkish[name] == english[name]}
    assert same <= {"SHA-256"}
