"""Scripted volunteers at addresses of their own who train and verify."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from coordination.clock import now
from coordination.leases.keys import digest
from coordination.models import Check, Result, Round, Run, Unit, Worker
from coordination.rounds.reconcile import reconcile
from tests.coordination.making import WorkerOf, make_run

HONEST, NOISE, OTHER_NOISE = 2, 77, 78


class Volunteer(WorkerOf):
    """Trains or verifies, whatever it is given, and sends what it is told to."""

    def __init__(self, run: Run, name: str, address: str, post: Callable, make: Callable) -> None:
        super().__init__(run, name, address)
        self._post, self._make = post, make

    def ask(self, request_id: str | None = None, **fields):
        return super().ask(request_id, **({"isler": ["egit", "dogrula"]} | fields))

    def send(self, task: dict, seed: int = HONEST, **metadata: str):
        """Deliver the update drawn from ``seed``; the same seed is the same update."""
        # The file names its lease, as a real worker's does: equal updates, other bytes.
        body = self._make(seed, gorev=task["gorev"], dtype="float32", **metadata)
        answer = self._post(self, task, body)
        assert answer.status_code == 200, answer.content
        return answer

    def work(self, seed: int = HONEST) -> dict:
        task = self.lease()
        self.send(task, seed)
        return task

    @property
    def row(self) -> Worker:
        return Worker.objects.get(run=self.run, name=self.name)


@pytest.fixture
def volunteer(post_whole, result_file) -> Callable[..., Volunteer]:
    """``volunteer(run, "ada", 2)`` works from 127.0.0.2 and has been heard from."""

    def make(run: Run, name: str, host: int, *, greets: bool = True) -> Volunteer:
        someone = Volunteer(run, name, f"127.0.0.{host}", post_whole, result_file)
        if greets:
            Worker.objects.create(
                run=run,
                name=name,
                address=someone.http.defaults["REMOTE_ADDR"],
                verifies=True,
                last_seen_at=now(),
            )
        return someone

    return make


@pytest.fixture
def single(db, tmp_path: Path) -> Run:
    """One shard, so that the first result would close the round."""
    return make_run(tmp_path, shards=1)


@pytest.fixture
def trio(single, volunteer) -> list[Volunteer]:
    return [volunteer(single, name, host) for host, name in enumerate(("ada", "bob", "cem"), 2)]


def register(*volunteers: Volunteer) -> None:
    """Give them tokens, so that they can earn trust."""
    for someone in volunteers:
        token = f"mwk_{someone.name * 16}"
        Worker.objects.filter(pk=someone.row.pk).update(token_digest=digest(token))
        someone.http.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"


def check_of(run: Run) -> Check:
    return Check.objects.get(result__unit__round__run=run)


def pass_deadline(run: Run, lengths: float = 0) -> None:
    """As if the open round's deadline was ``lengths`` rounds ago."""
    past = now() - timedelta(seconds=1 + lengths * run.round_seconds)
    Round.objects.filter(run=run, state=Round.State.OPEN).update(deadline_at=past)
    reconcile()


def all_leave(*volunteers: Volunteer) -> None:
    rows = [someone.row.pk for someone in volunteers]
    Worker.objects.filter(pk__in=rows).update(last_seen_at=now() - timedelta(hours=1))


def trained(run: Run) -> Result:
    return Result.objects.filter(unit__round__run=run, unit__job=Unit.Job.TRAIN).earliest("pk")
