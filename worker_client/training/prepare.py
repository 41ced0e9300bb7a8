"""The job ``on_isle`` as the child does it: no model, no torch, no connection."""

import time
from collections.abc import Callable
from pathlib import Path

from worker_client.contract.formats import load_format
from worker_client.corpus.chunk import make_rows, write_rows
from worker_client.models.load import served_codec
from worker_client.training.memory import at_most
from worker_client.training.messages import Prepare, Prepared
from worker_client.version import VERSION

MOST_MEMORY = 4 * 2**30  # a tokenizer of 64 MiB and a text of 16 MiB take less than half of it


def prepare_task(task: Prepare, check: Callable[[], None]) -> Prepared:
    """Write the rows of the task's text; ``check`` may raise between two lines to end it.

    Raises:
        TokenizerRefused: what was sent is none, or fails at a text.
    """
    started = time.monotonic()
    with at_most(MOST_MEMORY):
        codec = served_codec(Path(task.tokenizer), load_format(task.format))
        chunk = make_rows(Path(task.raw), codec, task.seq_len, tuple(task.languages), check)
    seconds = time.monotonic() - started
    metrics = {
        "gorev": task.lease_id,
        "tur": str(task.round),
        "sure_s": f"{seconds:.3f}",
        "cihaz": "cpu",
        "surum": VERSION,
    }
    written = write_rows(Path(task.out), chunk, codec, metrics)
    return Prepared(
        lease_id=task.lease_id,
        path=task.out,
        sha256=written.sha256,
        size=written.size,
        lines=chunk.lines,
        kept=chunk.kept,
        rows=written.rows,
        tokens=written.rows * (task.seq_len - 1),
        seconds=seconds,
    )
