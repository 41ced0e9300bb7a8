"""JSON files that are either the old or the new one, whatever happens while writing."""

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

R = TypeVar("R", bound=BaseModel)


def save(path: Path, record: BaseModel) -> None:
    """Replace ``path`` by ``record``: temporary file, fsync, rename, fsync of the folder.

    Only its owner may read it: records hold tokens and keys.
    """
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(record.model_dump_json(indent=1, by_alias=True))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def load(path: Path, model: type[R]) -> R | None:
    """The record in ``path``; None where there is none or it cannot be read.

    An unreadable file (a disk fault, another version) is set aside as ``.broken``: starting
    without it costs one task at most, refusing to start costs them all.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        path.replace(path.with_name(path.name + ".broken"))
        return None


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename or removal in ``folder`` outlive a power cut (POSIX; Windows needs none)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
