"""What a candidate's weights are, as a file that can be loaded."""

import shutil
from pathlib import Path

from worker_client.contract.encodings import CODECS
from worker_client.contract.formats import Format
from worker_client.contract.snapshots import snapshot_header
from worker_client.contract.wire import RAW_ENCODING, VECTOR_ENCODING, Candidate, Task
from worker_client.loop.catch_up import add_delta


def weights_of(
    candidate: Candidate, task: Task, fmt: Format, snapshot: Path, result: Path | None, folder: Path
) -> Path:
    """``snapshot`` or ``result``, or a new file in ``folder`` made of them, named after the lease.

    Raises:
        Refused: the result does not have the candidate's encoding.
        OSError: a file cannot be read or written.
    """
    if result is None or candidate.encoding == RAW_ENCODING:
        return result or snapshot
    made = folder / f"{task.lease_id}.{result.name[:16]}.weights"
    header = snapshot_header(fmt, task.round)
    if candidate.encoding == VECTOR_ENCODING:
        with made.open("wb") as out, result.open("rb") as source:
            out.write(header)
            shutil.copyfileobj(source, out)
        return made
    add_delta(CODECS[candidate.encoding], header, fmt, snapshot, result, made)
    return made
