"""A real training child with the tiny model, shared by the tests of the run loop."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from tests.worker_client.little_coordinator import LittleCoordinator
from worker_client.client.link import Link
from worker_client.client.patience import Backoff, Patience
from worker_client.display import events
from worker_client.loop.limits import Limits
from worker_client.loop.registration import Identity
from worker_client.loop.task import Bench, Totals
from worker_client.loop.trainer import Trainer, TrainerSettings
from worker_client.loop.worker import Worker
from worker_client.state.folder import CoordinatorState

E = TypeVar("E", bound=events.Event)


@dataclass
class Told:
    """A display that keeps what it was told, and can act on it as it comes."""

    seen: list[events.Event] = field(default_factory=list)
    moved: list[tuple[str, int, int]] = field(default_factory=list)
    react: dict[type[events.Event], threading.Event] = field(default_factory=dict)
    react_to_transfer: dict[str, threading.Event] = field(default_factory=dict)

    def show(self, event: events.Event) -> None:
        self.seen.append(event)
        if type(event) in self.react:
            self.react[type(event)].set()

    def transfer(self, what: str, done: int, total: int) -> None:
        self.moved.append((what, done, total))
        if what in self.react_to_transfer:
            self.react_to_transfer[what].set()

    def close(self) -> None:
        """Nothing is open."""

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.seen if isinstance(event, kind)]

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.seen]


@dataclass
class Rig:
    """Workers on one state folder, one after the other as after restarts."""

    server: LittleCoordinator
    root: Path
    trainer: Trainer
    limits: Limits = field(default_factory=Limits)
    own_data: Path | None = None
    registers: bool = True
    listed: bool | None = None
    takes_over: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    told: Told = field(default_factory=Told)
    totals: Totals = field(default_factory=Totals)

    @contextmanager
    def state(self) -> Iterator[CoordinatorState]:
        with CoordinatorState(self.root, self.server.url) as state:
            yield state

    def run(self, *, name: str = "tester", tasks: int | None = None) -> str:
        self.told, self.totals = (
            Told(react=self.told.react, react_to_transfer=self.told.react_to_transfer),
            Totals(),
        )
        with self.state() as state:
            backoff = Backoff(state, draw=lambda low, high: 0.001)
            told = self.told
            patience = Patience(
                backoff, self.stop, lambda reason, s: told.show(events.Waiting(s, reason))
            )
            link = Link(self.server.url, self.totals.traffic)
            bench = Bench(
                link, patience, state, self.trainer, told, self.totals, self.limits, self.own_data
            )
            identity = Identity(
                name, str(state.folder), self.registers, self.listed, self.takes_over
            )
            return Worker(bench, identity, tasks).run()


@pytest.fixture(scope="session")
def trainer(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    log = tmp_path_factory.mktemp("trainer") / "trainer.log"
    trainer = Trainer(TrainerSettings(str(tiny_models), "cpu", 1), log, lambda: None)
    yield trainer
    trainer.close()


@pytest.fixture
def rig(server: LittleCoordinator, trainer: Trainer, tmp_path: Path) -> Rig:
    return Rig(server, tmp_path / "state", trainer)
