"""How long jobs tell how far they are, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """``total`` is None while the end is unknown; ``unit`` is ``B`` for bytes, ``step``, ``row``,
    ``token`` or ``text``."""

    def __call__(self, stage: str, done: int, total: int | None, unit: str) -> None: ...


def silent(stage: str, done: int, total: int | None, unit: str) -> None:
    """Nobody listens."""
