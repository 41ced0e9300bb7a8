"""One process at a time prepares a run's text. The lock goes with its process, even a killed one;
that two do it would cost time, not truth: what they commit is conditional."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings


def workplace(run_id: int) -> Path:
    """A folder for what is made on the way, whoever left something there before."""
    return Path(settings.MODELEN_VAR) / "preparing" / str(run_id)


@contextmanager
def alone(run_id: int) -> Iterator[bool]:
    """Whether this process may, until the block ends."""
    path = workplace(run_id).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def is_at_work(run_id: int) -> bool:
    with alone(run_id) as free:
        return not free
