from datetime import timedelta

from django.utils import timezone

from accounts.models import User
from portal.models import Coordinator
from portal.tasks import forget_old_evidence
from portal.verification.retain import KEPT
from tests.portal.making import begin_draft
from tests.portal.verification.conftest import queued


def put(coordinator: Coordinator, code: str, ago: timedelta) -> int:
    attempt = queued(coordinator)
    attempt.code, attempt.finished_at = code, timezone.now() - ago
    attempt.save()
    return attempt.pk


def test_old_evidence_goes_but_the_last_success_stays(
    coordinator: Coordinator, stranger: User
) -> None:
    day = timedelta(days=1)
    never = begin_draft(stranger, "never")
    put(coordinator, "ok", KEPT + 3 * day)
    last = put(coordinator, "ok", KEPT + 2 * day)
    put(coordinator, "not_found", KEPT + day)
    put(never, "not_found", KEPT + day)
    young = put(coordinator, "not_found", KEPT - day)
    under_way = queued(coordinator).pk
    forget_old_evidence()
    forget_old_evidence()
    assert set(coordinator.attempts.values_list("pk", flat=True)) == {last, young, under_way}
    assert not never.attempts.exists()
