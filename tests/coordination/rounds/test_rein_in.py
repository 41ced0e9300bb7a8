"""A clock that ran ahead and was set back holds nobody up."""

from datetime import timedelta

import pytest

from coordination.clock import now
from coordination.models import Lease, Round
from coordination.rounds.reconcile import reconcile

pytestmark = pytest.mark.django_db
AHEAD = timedelta(days=400)


def test_a_lease_made_by_a_clock_that_ran_ahead_ends_in_time(run, worker):
    worker.lease()
    Lease.objects.update(expires_at=now() + AHEAD)
    reconcile()
    lease = Lease.objects.get()
    assert lease.state == Lease.State.LIVE
    assert lease.expires_at <= now() + timedelta(seconds=run.lease_seconds)


def test_a_deadline_far_ahead_comes_near(run):
    Round.objects.update(deadline_at=now() + AHEAD)
    reconcile()
    assert Round.objects.get().deadline_at <= now() + timedelta(seconds=run.round_seconds)


def test_a_merge_claimed_in_the_future_is_taken_up(run, settings):
    settings.MERGE_CLAIM_SECONDS = 60
    Round.objects.update(state=Round.State.MERGING, merge_claimed_at=now() + AHEAD)
    reconcile()
    claimed_at = Round.objects.get().merge_claimed_at
    assert claimed_at is not None and claimed_at <= now()


def test_what_is_in_order_stays_as_it_is(run, worker):
    worker.lease()
    before = list(Lease.objects.values("expires_at")), list(Round.objects.values("deadline_at"))
    reconcile()
    after = list(Lease.objects.values("expires_at")), list(Round.objects.values("deadline_at"))
    assert before == after


def test_a_round_that_seems_to_end_before_it_began_took_no_time(run):
    Round.objects.update(opened_at=now() + AHEAD, published_at=now())
    assert Round.objects.get().seconds == 0
