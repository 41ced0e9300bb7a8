"""A coordinator that dies before each of its changes on disk, one after the other.

``python -m tests.faults.instants STATE_FOLDER [STEP]`` plays a run of two rounds once in peace,
then once for every instant, or every STEPth: a child process plays until its SIGKILL, another one
plays on to the end. It prints what came out as JSON. Workers are played too, by the protocol, and
forget with the child: they ask again with the same request ids.
"""

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command
from django.db import connection
from django.db.backends.signals import connection_created
from django.test.utils import setup_test_environment

ROUNDS = 2
CHANGES = ("os.rename", "os.remove")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
TURNS = 50


class Instants:
    """Counts changes of files and commits, and dies before number ``last`` (from 1), if given."""

    def __init__(self, folders: tuple[str, ...], last: int | None) -> None:
        self.count = 0
        self._folders, self._last = folders, last

    def watch(self) -> None:
        sys.addaudithook(self._heard)
        connection_created.connect(self._connected)

    def _heard(self, event: str, arguments: tuple) -> None:
        changes = event in CHANGES or (event == "open" and arguments[2] & WRITING)
        if changes and str(arguments[0]).startswith(self._folders):
            self._pass()

    def _connected(self, connection: Any, **_: object) -> None:
        raw: sqlite3.Connection = connection.connection
        raw.set_trace_callback(lambda statement: self._pass() if statement == "COMMIT" else None)

    def _pass(self) -> None:
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


# --- What happens between two deaths ----------------------------------------------------------


def play(folder: Path) -> None:
    """Two workers and the reconciler take turns until the run is over."""
    from coordination.models import Run
    from coordination.rounds.reconcile import reconcile
    from tests.coordination.making import WorkerOf

    run = Run.objects.get()
    for _ in range(TURNS):
        for name in ("ada", "bob"):
            worker = WorkerOf(run, name)
            if task := lease(worker):
                deliver(worker, task, result_of(task, folder / "result"))
        reconcile()
        run.refresh_from_db()
        if run.state == Run.State.FINISHED:
            return
    sys.exit(f"not over after {TURNS} turns")


def lease(worker: Any) -> dict | None:
    """The task of the first request id that still holds, as a worker finds it after a restart."""
    for number in range(TURNS):
        answer = worker.ask(hashlib.sha256(f"{worker.name}{number}".encode()).hexdigest()[:32])
        if answer.status_code != 409:
            return answer.json() if answer.status_code == 200 else None
    sys.exit("every request id is used")


def result_of(task: dict, path: Path) -> bytes:
    """What training that task would give: the same bytes every time."""
    from tests.coordination.making import TINY, vector, write_weights
    from worker_client.contract.formats import load_format

    fmt = load_format(TINY)
    moved = vector(1, fmt) + vector(10 * task["tur"] + task["parca"], fmt, 0.001)
    return write_weights(path, fmt, moved.astype("<f4")).read_bytes()


def deliver(worker: Any, task: dict, body: bytes) -> None:
    announcement = {"boyut": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    answer = worker.sonuc(task, "put", data=announcement, content_type="application/json")
    while "ofset" in answer.json():
        offset = answer.json()["ofset"]
        answer = worker.sonuc(
            task,
            "patch",
            data=body[offset : offset + answer.json()["parca_boyut"]],
            content_type="application/octet-stream",
            headers={"Upload-Offset": str(offset)},
        )
        if answer.status_code == 204:
            answer = worker.sonuc(task, "put", data=announcement, content_type="application/json")
    assert answer.json().get("kabul"), answer.json()


def outcome() -> dict[str, Any]:
    """What must be the same after every death; blobs that nobody names do not count."""
    from coordination.models import OuterState, Result, Round, Snapshot

    results = Result.objects.order_by("unit__round__number", "unit__shard")
    snapshots = Snapshot.objects.order_by("number")
    return {
        "snapshots": list(snapshots.values_list("sha256", flat=True)),
        "outer": list(OuterState.objects.values_list("snapshot__number", "name", "sha256")),
        "results": list(results.values_list("sha256", "state", "holds_unit")),
        "rounds": list(Round.objects.order_by("number").values_list("state", "accepted")),
        "missing": [s.sha256 for s in snapshots if not _is_there(s.sha256)],
    }


def _is_there(sha256: str) -> bool:
    from coordination.storage import blobs

    return blobs().has(sha256)


# --- Children and their deaths ------------------------------------------------------------------


def in_a_child(action: Callable[[], None]) -> int:
    """Run ``action`` in a fork of this process; how that ended, as ``waitpid`` tells it."""
    connection.close()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        action()
        connection.close()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


class Theatre:
    """The state folder, as it is before the first lease, and what a play left."""

    def __init__(self, var: Path) -> None:
        self._var, self._start = var, var.with_name("start")
        self._told = var.with_name("told.json")
        self.deaths = 0

    def prepare(self) -> None:
        from tests.coordination.making import WorkerOf, make_run

        call_command("migrate", verbosity=0)
        run = make_run(self._var, rounds=ROUNDS)
        WorkerOf(run).http.get(f"/c/{run.slug}/bilgi")  # loads what every child would load
        connection.close()
        shutil.copytree(self._var, self._start)

    def set_scene(self) -> None:
        shutil.rmtree(self._var)
        shutil.copytree(self._start, self._var)

    def play_until(self, last: int | None) -> int:
        """Play until the instant ``last`` or to the end; how the child ended."""

        def act() -> None:
            folders = (str(self._var / "blobs"), str(self._var / "uploads"))
            instants = Instants(folders, last)
            instants.watch()
            play(self._var)
            told = outcome() | {"instants": instants.count}
            self._told.write_text(json.dumps(told))

        self._told.unlink(missing_ok=True)
        return in_a_child(act)

    def told(self) -> dict[str, Any]:
        return json.loads(self._told.read_text())

    def after_a_death_at(self, instant: int) -> dict[str, Any]:
        """The outcome of a play whose first coordinator died at ``instant``; of one without a
        death, if it was over before: what is done now and then is done less in a shorter play."""
        self.set_scene()
        if self.play_until(instant) == signal.SIGKILL:
            self.deaths += 1
            assert self.play_until(None) == 0, f"no end after a death at {instant}"
        return self.told()


def main(var: str, step: str = "1") -> None:
    os.environ |= {"MODELEN_VAR": var, "MODELEN_DISK_RESERVE_BYTES": "0"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "modelen_site.settings"
    django.setup()
    setup_test_environment()
    theatre = Theatre(Path(var))
    theatre.prepare()
    assert theatre.play_until(None) == 0
    peace = theatre.told()
    instants = peace.pop("instants")
    differing = []
    for instant in range(1, instants + 1, int(step)):
        found = theatre.after_a_death_at(instant)
        del found["instants"]
        if found != peace:
            differing.append({"instant": instant, "found": found})
    told = {"peace": peace, "instants": instants, "deaths": theatre.deaths}
    print(json.dumps(told | {"differing": differing}))


if __name__ == "__main__":
    main(*sys.argv[1:])
