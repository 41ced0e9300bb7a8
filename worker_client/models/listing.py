"""Verb: which formats this version knows and which base models are here."""

from dataclasses import dataclass
from pathlib import Path

from worker_client.contract.formats import known_formats, load_format
from worker_client.models.store import ModelStore


@dataclass(frozen=True)
class Listed:
    """``size`` in bytes; 0 and ``folder`` None when the base model is not on this computer."""

    format: str
    base_model: str
    licence: str
    source: str
    folder: Path | None
    size: int


def list_models(store: ModelStore) -> list[Listed]:
    """One row per known format."""
    return [_row(format_id, store) for format_id in known_formats()]


def _row(format_id: str, store: ModelStore) -> Listed:
    base = load_format(format_id).base_model
    here = store.has(base)
    folder = store.folder(base) if here else None
    size = sum(path.stat().st_size for path in folder.iterdir()) if folder else 0
    return Listed(format_id, base.ref, base.licence, base.source, folder, size)
