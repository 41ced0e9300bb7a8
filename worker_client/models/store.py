"""The model store: one folder per base model, complete or absent.

A folder holds ``config.json``, ``model.safetensors``, ``tokenizer.json`` and ``record.json``,
which names the digests of the files as distributed (``sources``) and as they lie here
(``files``). It is made beside its place and renamed into it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_data_dir

from worker_client.contract.formats import AdapterFormat, BaseModel
from worker_client.models.digests import sha256_file
from worker_client.models.errors import ModelCorrupt, ModelMissing

RECORD = "record.json"
FILES = ("config.json", "model.safetensors", "tokenizer.json")


def default_root() -> Path:
    """``MODELEN_MODELS_DIR``, or the platform's place for application data."""
    named = os.environ.get("MODELEN_MODELS_DIR")
    return Path(named) if named else Path(user_data_dir("modelen")) / "models"


class ModelStore:
    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root) if root else default_root()

    def folder(self, base: BaseModel) -> Path:
        """Where the model belongs, whether it is there or not."""
        return self.root / f"{base.id}@{base.revision}".replace("/", "--")

    def has(self, base: BaseModel) -> bool:
        return (self.folder(base) / RECORD).is_file()

    def open(self, fmt: AdapterFormat) -> Path:
        """The folder of a format's base model, its files all there at their recorded sizes.

        Raises:
            ModelMissing: never fetched.
            ModelCorrupt: a file is gone or cut short.
        """
        record, folder = self.record(fmt), self.folder(fmt.base_model)
        for name, entry in record["files"].items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != entry["size"]:
                raise ModelCorrupt(fmt, f"{name} is missing or cut short")
        return folder

    def record(self, fmt: AdapterFormat) -> dict:
        """``{"base_model", "sources": {name: sha256}, "files": {name: {"sha256", "size"}}}``."""
        if not self.has(fmt.base_model):
            raise ModelMissing(fmt)
        try:
            record = json.loads((self.folder(fmt.base_model) / RECORD).read_text("utf-8"))
        except ValueError:
            raise ModelCorrupt(fmt, f"{RECORD} is not JSON") from None
        if set(record.get("files", ())) != set(FILES):
            raise ModelCorrupt(fmt, f"{RECORD} does not list its files")
        return record

    @contextmanager
    def installing(self, base: BaseModel, sources: dict[str, str]) -> Iterator[Path]:
        """A temporary folder to fill with ``FILES``; on leaving it replaces the model's folder.

        Left by an error, the folder is removed and what was there before stays.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=self.root))
        try:
            yield made
            _write_record(made, base, sources)
            self._replace(made, self.folder(base))
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _replace(self, made: Path, place: Path) -> None:
        if place.exists():
            old = Path(tempfile.mkdtemp(prefix=".old-", dir=self.root)) / "model"
            place.rename(old)
            shutil.rmtree(old.parent, ignore_errors=True)
        made.chmod(0o755)
        made.rename(place)


def _write_record(folder: Path, base: BaseModel, sources: dict[str, str]) -> None:
    files = {
        name: {"sha256": sha256_file(folder / name), "size": (folder / name).stat().st_size}
        for name in FILES
    }
    record = {"base_model": base.ref, "licence": base.licence, "sources": sources, "files": files}
    with (folder / RECORD).open("w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
