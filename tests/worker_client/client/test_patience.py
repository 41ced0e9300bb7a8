"""Back-off: how it grows, what it remembers, and that stops are heard."""

import threading
import time

import pytest

from tests.worker_client.conftest import MemoryStore, impatient
from worker_client.client.faults import Final, Passing, Stopped
from worker_client.client.patience import LONGEST_S, Backoff, BackoffRecord, Patience


def ceilings(steps: int) -> list[float]:
    """The upper ends that jitter was drawn from over so many failures in a row."""
    drawn: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        drawn.append((low, high))
        return -1.0  # over at once

    backoff = Backoff(MemoryStore(), draw)
    for _ in range(steps):
        backoff.failed()
    assert {low for low, _ in drawn} == {0}
    return [high for _, high in drawn]


def test_one_second_doubles_to_five_minutes_with_full_jitter():
    assert ceilings(11) == [1, 2, 4, 8, 16, 32, 64, 128, 256, LONGEST_S, LONGEST_S]
    assert ceilings(5000)[-1] == LONGEST_S


def test_many_failures_at_once_are_one_step():
    store = MemoryStore()
    backoff = Backoff(store, lambda low, high: high)
    for _ in range(6):
        backoff.failed()
    assert store.record.failures == 1
    assert 0 < backoff.remaining() <= 1


def test_a_later_request_to_wait_lengthens_the_wait_it_falls_into():
    backoff = Backoff(MemoryStore(), lambda low, high: high)
    backoff.failed()
    backoff.failed(retry_after=50)
    assert 49 < backoff.remaining() <= 50


def test_retry_after_is_a_minimum():
    backoff = Backoff(MemoryStore(), lambda low, high: high)
    backoff.failed(retry_after=30)
    assert 29 < backoff.remaining() <= 30


def test_success_starts_anew():
    store = MemoryStore()
    backoff = Backoff(store, lambda low, high: 0.0)
    backoff.failed()
    backoff.failed()
    backoff.succeeded()
    assert store.record.failures == 0


def test_the_wait_outlives_a_restart():
    store = MemoryStore()
    Backoff(store).failed(retry_after=100)
    assert 98 < Backoff(store).remaining() <= 100
    assert Backoff(store)._failures == 1


def test_a_clock_that_was_set_back_makes_no_endless_wait():
    store = MemoryStore(BackoffRecord(not_before=time.time() + 10**9))
    assert Backoff(store).remaining() <= 86_400


def test_a_call_is_repeated_until_it_succeeds_and_says_why():
    told: list = []
    outcomes = [Passing("first"), Passing("second"), "done"]

    def attempt() -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert impatient(told=told).call(attempt) == "done"
    assert [reason for reason, _ in told] == ["first", "second"]


def test_a_final_refusal_ends_the_call_at_once():
    def attempt() -> None:
        raise Final("never")

    with pytest.raises(Final, match="never"):
        impatient().call(attempt)


def test_a_call_that_must_not_reset_leaves_the_back_off():
    patience = impatient()
    patience.backoff.failed()
    patience.call(lambda: None, resets=False)
    assert patience.backoff._failures == 1
    patience.call(lambda: None)
    assert patience.backoff._failures == 0


def test_a_stop_ends_the_wait():
    stop = threading.Event()
    patience = Patience(Backoff(MemoryStore(), lambda low, high: 300.0), stop)

    def attempt() -> None:
        threading.Timer(0.05, stop.set).start()
        raise Passing("away")

    with pytest.raises(Stopped):
        patience.call(attempt)
