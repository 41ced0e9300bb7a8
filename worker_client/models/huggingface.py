"""Weights and tokenizer from the Hugging Face hub, at the manifest's pinned revision."""

from pathlib import Path

from worker_client.contract.formats import BaseModel
from worker_client.models.errors import FetchFailed
from worker_client.models.progress import Progress


def download(base: BaseModel, into: Path, progress: Progress) -> Path:
    """Bring the files that the manifest names; return their folder.

    Raises:
        FetchFailed: the hub cannot be reached or has no such revision.
    """
    from huggingface_hub import hf_hub_download

    for number, name in enumerate(base.files):
        progress("download", number, len(base.files), "step")
        try:
            hf_hub_download(base.id, name, revision=base.revision, local_dir=into)
        except Exception as error:  # the hub client raises its own, httpx's and OSErrors
            raise FetchFailed(
                f"{name} of {base.ref} did not come from the Hugging Face hub "
                f"({type(error).__name__}: {error}); check your connection, or give a copy on "
                "disk to `python -m worker_client models add`"
            ) from error
    progress("download", len(base.files), len(base.files), "step")
    return into
