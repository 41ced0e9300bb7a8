"""From a source folder whose digests are checked to a model folder in its place."""

import json
import shutil
import tempfile
from pathlib import Path

from worker_client.contract.formats import AdapterFormat, BaseModel
from worker_client.models import gguf_base, seeded_base
from worker_client.models.digests import sha256_file
from worker_client.models.errors import SourceRefused
from worker_client.models.progress import Progress
from worker_client.models.store import ModelStore


def install(fmt: AdapterFormat, source: Path, store: ModelStore, progress: Progress) -> Path:
    """Check every file the manifest names in the folder ``source``, then put the model in place.

    Raises:
        SourceRefused: a file is missing or has another digest; nothing is changed then.
    """
    base = fmt.base_model
    check_sources(base, source, progress)
    with store.installing(base, base.files) as folder:
        _fill(base, source, folder, progress)
    return store.folder(base)


def check_sources(base: BaseModel, source: Path, progress: Progress) -> None:
    for name, expected in base.files.items():
        path = source / name
        if not path.is_file():
            raise SourceRefused(f"{source} has no {name}, which {base.ref} consists of")
        if sha256_file(path, progress) != expected:
            raise SourceRefused(
                f"{path} is not the file that {base.ref} names (its SHA-256 differs from "
                f"{expected}); download it again from its source"
            )


def _fill(base: BaseModel, source: Path, folder: Path, progress: Progress) -> None:
    gguf = [name for name in base.files if name.endswith(".gguf")]
    if gguf:
        gguf_base.convert(source / gguf[0], base.config, folder, progress)
        return
    (folder / "config.json").write_text(json.dumps(base.config, indent=1) + "\n", "utf-8")
    for name in base.files:
        progress("copy", 0, None, "step")
        shutil.copyfile(source / name, folder / name)


def make_seeded(fmt: AdapterFormat, store: ModelStore, progress: Progress) -> Path:
    """Make the seeded model and install it under the same checks as a fetched one."""
    with tempfile.TemporaryDirectory() as temporary:
        seeded_base.make(fmt.base_model, Path(temporary))
        return install(fmt, Path(temporary), store, progress)
