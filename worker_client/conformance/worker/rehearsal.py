"""A worker's command, started against one stage after another."""

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from worker_client.conformance.check import Failed
from worker_client.conformance.worker.stage import Stage
from worker_client.contract.formats import AdapterFormat

POLL_S = 0.05
GRACE_S = 10.0


class Actor:
    """One process of the worker, with all that it starts itself."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.folder, self.log = folder, folder / "said.txt"
        with self.log.open("ab") as said:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Whether ``until`` came true before the process ended and the time was up."""
        end = time.monotonic() + seconds
        while not until():
            if self.ended or time.monotonic() > end:
                return until()
            time.sleep(POLL_S)
        return True

    def kill(self) -> None:
        """End the process and its children at once, as a power cut would."""
        if not self.ended:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def last_words(self) -> str:
        lines = self.log.read_text("utf-8", errors="replace").strip().splitlines()
        status = self.process.poll()
        how = "runs on" if status is None else f"ended with status {status}"
        return f"it {how}, last words: {lines[-1][:200] if lines else '(none)'}"


class Rehearsal:
    """The subject of the worker's checks. ``{url}`` and ``{dir}`` in ``command`` are replaced;
    without ``{url}`` it comes last. ``patience`` is how long training one task may take."""

    def __init__(self, command: str, fmt: AdapterFormat, patience: float = 300.0) -> None:
        self.words, self.fmt, self.patience = shlex.split(command), fmt, patience
        self.scenes: dict[str, object] = {}
        self._actors: list[Actor] = []
        self._folder = tempfile.TemporaryDirectory(prefix="modelen-conformance-")

    @property
    def keeps_folder(self) -> bool:
        return any("{dir}" in word for word in self.words)

    def start(self, stage: Stage, folder: Path | None = None) -> Actor:
        """The worker at work for ``stage``, in a fresh folder unless one is given.

        Raises:
            Failed: the command cannot be started.
        """
        folder = folder or Path(tempfile.mkdtemp(dir=self._folder.name))
        words = [w.replace("{url}", stage.url).replace("{dir}", str(folder)) for w in self.words]
        if not any("{url}" in word for word in self.words):
            words.append(stage.url)
        try:
            actor = Actor(words, folder)
        except OSError as error:
            raise Failed(f"the worker's command cannot be started: {error}") from None
        self._actors.append(actor)
        return actor

    def tidy(self) -> None:
        """End what still runs."""
        for actor in self._actors:
            actor.kill()
        self._actors.clear()

    def __enter__(self) -> "Rehearsal":
        return self

    def __exit__(self, *_: object) -> None:
        self.tidy()
        self._folder.cleanup()
