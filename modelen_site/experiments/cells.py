"""The cells of a grid, and what became of one."""

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict

from modelen_site.experiments.plan import Setting

How = Literal["simulation", "real"]


class Cell(BaseModel):
    """A setting with its learning rate and seed: one model trained once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    setting: Setting
    lr: float
    seed: int

    @property
    def key(self) -> str:
        """A name for files and runs that no other cell has."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class Point(BaseModel):
    """Held-out loss (nats per token, of each language) after ``tokens`` trained by all clients.

    ``up`` and ``down``: bytes of all clients so far, without shards and first snapshots.
    """

    round: int
    tokens: int
    up: int
    down: int
    loss: float
    by_language: dict[str, float]


class Outcome(BaseModel):
    """``validation`` is None where training diverged. Bytes are of all clients together; what is
    fetched once, shards and first snapshots, is apart. ``wire_up`` and ``wire_down`` are all
    bodies that real workers sent and received, ``digest`` is the last snapshot's."""

    cell: Cell
    how: How
    validation: float | None
    points: list[Point]
    shard_bytes: int
    first_bytes: int
    wire_up: int | None = None
    wire_down: int | None = None
    screened: int = 0
    digest: str = ""
    seconds: float = 0.0
    device: str = ""
    dtype: str = ""
    failure: str = ""

    @property
    def last(self) -> Point:
        return self.points[-1]


def exchanged(
    setting: Setting, model_bytes: int, steps: int, files: tuple[int, int]
) -> tuple[int, int]:
    """Bytes that all clients have sent and fetched after ``steps`` of each.

    Of rounds, those of ``files``, results and updates. Synchronous training sends every gradient
    and fetches every mean; nobody does that here, so it is arithmetic. One machine sends nothing.
    """
    if setting.is_rounds:
        return files
    each = steps * model_bytes * setting.clients if setting.kind == "synchronous" else 0
    return each, each
