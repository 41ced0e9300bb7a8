"""Results come in order, few jobs are ahead, and no process outlives an end of any kind."""

import os
import signal
import time
from itertools import count
from multiprocessing import active_children

import pytest

from worker_client.corpus.processes import AHEAD, in_order

LONG_S = 600


def double(number: int) -> int:
    return 2 * number


def sleep_or_answer(number: int) -> int:
    if number:
        time.sleep(LONG_S)
    return os.getpid()


def fail(number: int) -> int:
    raise ValueError(f"job {number}")


@pytest.mark.parametrize("processes", [1, 3])
def test_results_come_in_order(processes):
    assert list(in_order(double, range(20), processes)) == list(range(0, 40, 2))


def test_jobs_without_end_are_taken_as_they_are_needed():
    jobs = count()
    results = in_order(double, jobs, 2)
    assert [next(results) for _ in range(3)] == [0, 2, 4]
    results.close()
    assert next(jobs) <= 3 + 2 * AHEAD
    assert active_children() == []


def test_what_goes_wrong_in_a_process_is_told():
    with pytest.raises(ValueError, match="job 0"):
        list(in_order(fail, range(3), 2))


def test_nobody_waits_for_work_that_nobody_wants():
    results = in_order(sleep_or_answer, range(3), 2)
    next(results)
    started = time.monotonic()
    results.close()
    assert time.monotonic() - started < LONG_S / 2
    assert active_children() == []


def test_a_killed_process_is_an_error_of_this_computer():
    results = in_order(sleep_or_answer, range(4), 2)
    os.kill(next(results), signal.SIGKILL)
    with pytest.raises(OSError, match="want of memory"):
        list(results)
    assert active_children() == []
