"""Verb: read every byte of a stored model and compare digests."""

from pathlib import Path

from worker_client.contract.formats import AdapterFormat
from worker_client.models.digests import sha256_file
from worker_client.models.errors import ModelCorrupt
from worker_client.models.progress import Progress, silent
from worker_client.models.store import ModelStore


def verify(fmt: AdapterFormat, store: ModelStore, *, progress: Progress = silent) -> Path:
    """The model's folder, all of it as recorded when it was put there.

    Raises:
        ModelMissing: not there.
        ModelCorrupt: names the first file that differs.
    """
    record, folder = store.record(fmt), store.open(fmt)
    if record["sources"] != fmt.base_model.files:
        raise ModelCorrupt(fmt, "it was made from other files than the manifest names")
    for name, entry in record["files"].items():
        if sha256_file(folder / name, progress) != entry["sha256"]:
            raise ModelCorrupt(fmt, f"{name} has changed")
    return folder
