"""SHA-256 of files, read in pieces."""

import hashlib
from pathlib import Path

from worker_client.models.progress import Progress, silent

PIECE_BYTES = 4 * 2**20


def sha256_file(path: Path, progress: Progress = silent) -> str:
    """Lower-case hex digest of a file of any size."""
    digest, total = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            progress(f"verify {path.name}", file.tell(), total, "B")
    return digest.hexdigest()
