"""Server processes for tests: started, found by the port they print, ended by their id."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

# Only what hangs takes so long; a busy machine must not.
PATIENCE_S = 120
REPO = Path(__file__).resolve().parents[2]


class ServerProcess:
    """A child process that prints its port when it is open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.port = self._read_port()

    def _read_port(self) -> int:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.fullmatch(r"(?:Serving on http://.*:)?(\d+)(?:/ .*)?\n", line):
                return int(found.group(1))
        raise RuntimeError(f"the server ended before it listened: {self.lines}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int:
        """Resident bytes now."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE_S)


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[ServerProcess]:
    """Run ``python arguments...`` until the block ends."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO), "PYTHONUNBUFFERED": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield ServerProcess(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
