"""Simulated cells side by side, one thread each: results then depend on nothing but their cell."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

from modelen_site.experiments.cells import Cell, Outcome
from modelen_site.experiments.plan import Plan
from modelen_site.experiments.texts import Texts

LOOK_S = 0.5

_given: tuple[Plan, Texts, "Synchronized[int]", Event]


class Stopped(Exception):
    """Nobody waits for this cell any longer."""


def simulate_all(
    plan: Plan,
    texts: Texts,
    cells: Sequence[tuple[Cell, Path]],
    processes: int,
    watch: Callable[[int], object],
) -> Iterator[Outcome]:
    """Outcomes as they come; each cell has an empty folder of its own. ``watch`` hears now and
    then how many steps have been taken in all."""
    context = multiprocessing.get_context("spawn")
    counter: Synchronized[int] = context.Value("q", 0)
    stop = context.Event()
    with ProcessPoolExecutor(processes, context, _prepare, (plan, texts, counter, stop)) as pool:
        waiting = {pool.submit(_simulate, cell, folder) for cell, folder in cells}
        try:
            while waiting:
                done, waiting = wait(waiting, LOOK_S, FIRST_COMPLETED)
                watch(counter.value)
                for future in done:
                    yield future.result()
        finally:
            stop.set()
            for future in waiting:
                future.cancel()


def _prepare(plan: Plan, texts: Texts, counter: "Synchronized[int]", stop: Event) -> None:
    global _given
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _given = plan, texts, counter, stop


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _simulate(cell: Cell, folder: Path) -> Outcome:
    from modelen_site.experiments.simulate import Simulation

    plan, texts, counter, stop = _given

    def tick(steps: int) -> None:
        if stop.is_set():
            raise Stopped
        with counter.get_lock():
            counter.value += steps

    return Simulation(plan, cell, texts, folder, tick).run()
