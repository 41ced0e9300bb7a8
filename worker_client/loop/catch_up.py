"""From the snapshot that is still here to the task's, by a compressed update."""

import hashlib
from pathlib import Path

import numpy as np

from worker_client.contract.encodings import CHUNK, CODECS, Codec
from worker_client.contract.encodings.delta import Delta
from worker_client.contract.errors import Refused
from worker_client.contract.formats import Format
from worker_client.contract.snapshots import snapshot_header
from worker_client.contract.tensors import read_header
from worker_client.contract.wire import Task
from worker_client.state.records import Held

FLOAT32 = np.dtype("<f4")


def can_catch_up(task: Task, held: Held | None) -> bool:
    """Whether the task offers an update of what is held in an encoding known here."""
    return (
        held is not None
        and task.delta is not None
        and task.delta.round == held.round
        and task.delta.encoding in CODECS
    )


def catch_up(task: Task, fmt: Format, held: Path, update: Path, folder: Path) -> Path | None:
    """Write the task's snapshot into ``folder`` from ``held`` and ``update``, both whole files.

    None when that does not lead to the bytes that the task names: then they are to be fetched.
    """
    assert task.delta is not None
    part = folder / f"{task.snapshot.sha256}.part"
    try:
        codec = CODECS[task.delta.encoding]
        digest = add_delta(codec, snapshot_header(fmt, task.round), fmt, held, update, part)
    except (Refused, OSError):
        digest = ""
    if digest != task.snapshot.sha256:
        part.unlink(missing_ok=True)
        return None
    return part.replace(folder / task.snapshot.sha256)


def add_delta(
    codec: Codec, header: bytes, fmt: Format, held: Path, update: Path, part: Path
) -> str:
    """SHA-256 of ``header`` and old weights plus update, as they were written to ``part``; empty
    when ``held`` is too short.

    Raises:
        Refused: one of the files is not what it should be.
    """
    digest, buffers = hashlib.sha256(header), np.empty((2, CHUNK), FLOAT32)
    with held.open("rb") as old, update.open("rb") as new, part.open("wb") as out:
        begins = read_header(old, held.stat().st_size).data_start
        delta = Delta.of(read_header(new, update.stat().st_size), codec, fmt.parameters)
        old.seek(begins)
        out.write(header)
        for begin in range(0, fmt.parameters, CHUNK):
            end = min(begin + CHUNK, fmt.parameters)
            values = delta.read(new, begin, end, buffers[0])
            weights = np.frombuffer(old.read(4 * (end - begin)), FLOAT32)
            if len(weights) < end - begin:
                return ""
            with np.errstate(over="ignore", invalid="ignore"):  # the digest tells
                piece = np.add(weights, values, out=buffers[1][: end - begin]).data
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()
