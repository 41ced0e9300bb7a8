"""The faults themselves: what they break, for how long, and how it is mended."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from tests.e2e.site import REPO
from tests.faults.enduring import VOLUNTEERS, Crew
from tests.faults.production import Production

Fault = Callable[[Crew, random.Random], None]

LONGEST_OUTAGE_S = 1.5
DISK_BYTES = 8 * 2**20
SLEEPING = Path(__file__).with_name("faked_clock")
# Seconds by which a clock is wrong, in turn: it jumps forward and back by days, hours and less.
WRONG_BY_S = (86_400 * 2, -86_400 * 3, 0, 7200, -3600, 45, -30)


def killing_a_part(site: Production, part: str) -> Fault:
    """SIGKILL to a part of the site, which stays away for a moment."""

    def kill(crew: Crew, draw: random.Random) -> None:
        site.kill_part(part)
        time.sleep(draw.uniform(0, LONGEST_OUTAGE_S))
        site.start_part(part)

    return kill


def killing_a_volunteer(crew: Crew, draw: random.Random) -> None:
    crew.kill(draw.choice(VOLUNTEERS))


def any_of(*faults: Fault) -> Fault:
    return lambda crew, draw: draw.choice(faults)(crew, draw)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 8 MiB at ``folder``; root alone can make one."""
    folder.mkdir(parents=True)
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}"]
    subprocess.run(["mount", *options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def filling(disk: Path) -> Fault:
    """Fill the disk to its last byte, and empty it after a moment."""

    def fill(crew: Crew, draw: random.Random) -> None:
        ballast = disk / "ballast"
        until = time.monotonic() + draw.uniform(0.2, LONGEST_OUTAGE_S)
        with open(ballast, "wb", buffering=0) as file:
            while time.monotonic() < until and crew.at_work:
                try:
                    file.write(b"\0" * 4096)
                except OSError:
                    time.sleep(0.005)
        ballast.unlink()

    return fill


def _faketime() -> Path:
    """Where Debian has it, whatever the processor."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))


class WrongClock:
    """A wall clock for other processes, which is set forward and back as they run."""

    def __init__(self, folder: Path) -> None:
        self._offset = folder / "clock"
        self._next = cycle(WRONG_BY_S)
        self.set_wrong(0)

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which a program lives by this clock."""
        return {
            "LD_PRELOAD": str(_faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            # A clock that is set does not move the time since the start.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Files keep the kernel's times: the collector sees them age by the jump.
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": f"{SLEEPING}:{REPO}",
        }

    def jump(self, crew: Crew, draw: random.Random) -> None:
        """Set the clock; a volunteer is lost with a task in hand."""
        crew.replace(draw.choice(VOLUNTEERS))
        self.set_wrong(next(self._next))

    def set_wrong(self, seconds: int) -> None:
        """From now on it is ahead by so many seconds, or behind where they are negative."""
        draft = self._offset.with_suffix(".new")
        draft.write_text(f"{seconds:+d}")
        os.replace(draft, self._offset)
