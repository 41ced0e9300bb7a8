"""What a report says: the one source of its tables, plots and page."""

from typing import Literal

from pydantic import BaseModel

from modelen_site.experiments.cells import How
from modelen_site.experiments.plan import Setting, Slug

LINKS_MBIT = (10, 50, 1000)


class CurvePoint(BaseModel):
    """A point of a curve, over seeds: nats per token; bytes of all clients, both ways."""

    tokens: int
    round: int
    bytes: float
    loss: float


class Row(BaseModel):
    """What became of one setting, over its seeds.

    ``at_edge``: the learning rate is the least or the largest that was offered, so that a better
    one may lie outside; ``was_given``: its arm offers no other. Bytes are of one client, except
    ``total_bytes``: all clients over the whole run, both ways, without shards and first
    snapshots. ``utilisation``: the share of its time that a client trains, on a link of so many
    Mbit/s. ``seconds_to_target``: the same links.
    """

    setting: Setting
    lr: float
    at_edge: bool
    was_given: bool = False
    seeds: list[int]
    losses: list[float]
    by_language: dict[str, float]
    loss: float
    spread: float | None
    rounds: int
    steps: int
    tokens: int
    up_a_round: float
    down_a_round: float
    total_bytes: float
    shard_bytes: float
    first_bytes: float
    wire_bytes: float | None
    screened: int
    digests: list[str]
    curve: list[CurvePoint]
    utilisation: dict[int, float]
    tokens_to_target: float | None = None
    seconds_to_target: dict[int, float] = {}


class Verdict(BaseModel):
    """``measured`` and ``bar`` in per cent above, or times fewer bytes. ``met`` is None while
    there is nothing to judge by."""

    title: str
    of: Setting
    against: Setting
    unit: Literal["percent", "times"]
    bar: float
    measured: float | None
    met: bool | None
    why: str


class Failure(BaseModel):
    """A cell that diverged."""

    setting: Setting
    lr: float
    why: str


class Report(BaseModel):
    """Everything that pages, tables and plots are made from."""

    name: Slug
    title: str
    description: str
    how: How
    command: str
    version: str
    format: str
    recipe: str = "v1"
    parameters: int
    seq_len: int
    batch_size: int
    tokens: int
    seeds: list[int]
    learning_rates: list[float]
    languages: list[str]
    text_source: str
    text_licence: str
    train_tokens: int
    device: str
    dtype: str
    step_seconds: float
    target_loss: float | None
    cells: int
    cells_done: int
    failures: list[Failure]
    rows: list[Row]
    bars: list[Verdict]
