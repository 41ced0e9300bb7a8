"""Adaptive replication: who is checked, how often, and what a check changes."""

from itertools import accumulate

import pytest

from coordination.trust.policy import CheckPolicy, Quota, Standing, draw, weight

SECRET = b"the run's own"
POLICY = CheckPolicy(proven_after=10, floor=0.1)


def _after(*verdicts: bool) -> Standing:
    return list(accumulate(verdicts, Standing.after, initial=Standing()))[-1]


def _share_checked(standing: Standing, policy: CheckPolicy, results: int = 20_000) -> float:
    checked = sum(policy.must_check(standing, SECRET, 1, shard) for shard in range(results))
    return checked / results


@pytest.mark.parametrize("valid_so_far", range(10))
def test_an_unproven_worker_is_checked_always(valid_so_far):
    standing = _after(*[True] * valid_so_far)
    assert _share_checked(standing, POLICY, 500) == 1.0


@pytest.mark.parametrize(("valid_so_far", "share"), [(10, 0.1), (20, 0.05), (50, 0.02)])
def test_a_proven_one_with_probability_one_in_as_many_as_were_valid(valid_so_far, share):
    policy = CheckPolicy(proven_after=10, floor=0.0)
    assert _share_checked(_after(*[True] * valid_so_far), policy) == pytest.approx(share, abs=0.006)


def test_never_below_the_floor():
    standing = Standing(consecutive_valid=10**9)
    assert POLICY.probability(standing) == 0.1
    assert _share_checked(standing, POLICY) == pytest.approx(0.1, abs=0.008)
    assert _share_checked(standing, CheckPolicy(floor=1.0), 500) == 1.0


def test_one_invalid_result_takes_all_that_was_earned():
    fallen = _after(*[True] * 30, False)
    assert fallen == Standing(consecutive_valid=0, valid=30, invalid=1)
    assert POLICY.probability(fallen) == 1.0
    assert not POLICY.is_proven(_after(*[True] * 30, False, *[True] * 9))
    assert POLICY.is_proven(_after(*[True] * 30, False, *[True] * 10))


def test_the_draw_is_repeatable_and_nobody_without_the_secret_can_work_it_out():
    standing = Standing(consecutive_valid=10)
    names = [(round_, shard) for round_ in range(50) for shard in range(40)]
    drawn = [POLICY.must_check(standing, SECRET, *name) for name in names]
    assert drawn == [POLICY.must_check(standing, SECRET, *name) for name in names]
    other = [POLICY.must_check(standing, b"another secret", *name) for name in names]
    both = sum(a and b for a, b in zip(drawn, other, strict=True))
    assert both / len(names) == pytest.approx(0.01, abs=0.01)  # independent: 0.1 * 0.1


def test_a_draw_is_uniform():
    values = sorted(draw(SECRET, n) for n in range(10_000))
    assert 0 <= values[0] and values[-1] < 1
    assert all(abs(value - n / 10_000) < 0.02 for n, value in enumerate(values))


def test_different_names_are_different_draws():
    assert draw(SECRET, 1, 23) != draw(SECRET, 12, 3)


@pytest.mark.parametrize(("proven_after", "floor"), [(0, 0.1), (1, -0.1), (1, 1.1)])
def test_an_impossible_policy_is_refused(proven_after, floor):
    with pytest.raises(ValueError, match="proven_after"):
        CheckPolicy(proven_after, floor)


def test_what_was_repeated_weighs_all_and_a_promise_less():
    assert weight(Standing(), verified=True) == 1.0
    assert weight(Standing(), verified=False) == 0.5
    assert weight(_after(*[True] * 10), verified=False) == pytest.approx(11 / 12)
    assert weight(_after(*[True] * 10, False), verified=False) == 0.5


def test_a_quota_halves_with_errors_and_comes_back_by_doubling():
    quota, left = Quota(full=100), 100
    for _ in range(20):
        left = quota.after_error(left)
    assert left == 1
    regained = list(accumulate(range(8), lambda q, _: quota.after_success(q), initial=left))
    assert regained[:4] == [1, 2, 4, 8] and regained[-1] == 100
