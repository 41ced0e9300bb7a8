"""Verb: which formats this version knows and which base models are here."""

from dataclasses import dataclass
from pathlib import Path

from worker_client.contract.formats import AdapterFormat, known_formats, load_format
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
    """One row per known format that has a base model."""
    formats = map(load_format, known_formats())
    return [_row(fmt, store) for fmt in formats if isinstance(fmt, AdapterFormat)]


def _row(fmt: AdapterFormat, store: ModelStore) -> Listed:
    base = fmt.base_model
    here = store.has(base)
    folder = store.folder(base) if here else None
    size = sum(path.stat().st_size for path in folder.iterdir()) if folder else 0
    return Listed(fmt.id, base.ref, base.licence, base.source, folder, size)
