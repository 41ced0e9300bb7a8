"""Everything that ``run`` tells, one class per event.

``run --json`` writes one object per line: ``event`` (``name`` below), ``time`` (RFC 3339, UTC)
and the fields as they stand here. Sizes are bytes, times seconds, losses nats per token.
Names and fields are stable; new ones may be added.
"""

from dataclasses import dataclass
from typing import ClassVar

FATES = {
    "birlesti": "was merged",
    "elendi": "was screened out",
    "denetlenemedi": "was left out: nobody could verify it in time",
    "ret": "was refused",
    "kullanildi": "was used to check another volunteer's result or to measure a snapshot",
    "silindi": "is no longer known to the coordinator",
}
SCREENED = {
    "degismemis": "it is the snapshot as it was; no training leaves it so",
    "kopya": "it equals another result, or nearly",
    "fazla_hizli": "it came faster than the task can be done",
    "norm_aykiri": "it moved far further, or far less, than the round's others",
    "yon_aykiri": "it leads against the round's others",
    "olcum_tutmadi": "two others measured losses that such training does not lead to",
    "dogrulama_tutmadi": "two others repeated the task and got another result",
}


@dataclass(frozen=True)
class Event:
    name: ClassVar[str]

    def text(self) -> str:
        """One line for people."""
        raise NotImplementedError


@dataclass(frozen=True)
class Started(Event):
    """The coordinator answered. ``format`` is empty where it does not say what it trains."""

    name = "started"
    worker: str
    coordinator: str
    run: str
    format: str
    base_model: str
    version: str
    state_dir: str

    def text(self) -> str:
        model = f", model {self.base_model}" if self.base_model else ""
        return f"{self.worker} works for {self.run or self.coordinator}{model}"


@dataclass(frozen=True)
class Registered(Event):
    """The name belongs to this state folder's token. ``approved`` is False while an admin of a
    closed run has still to let it in."""

    name = "registered"
    worker: str
    approved: bool

    def text(self) -> str:
        if self.approved:
            return f"{self.worker} is registered here; its token is in the state folder"
        return (
            f"{self.worker} is registered and waits for approval by an admin of this run; "
            "you can leave this running, or start it again later"
        )


@dataclass(frozen=True)
class Ready(Event):
    """The training process has loaded the model."""

    name = "ready"
    device: str
    dtype: str
    threads: int
    seconds: float

    def text(self) -> str:
        return f"model loaded in {self.seconds:.1f} s: {self.device}, {self.dtype}"


@dataclass(frozen=True)
class Leased(Event):
    """``resumed``: a lease that an earlier process of this worker had already taken. ``job`` is
    the protocol's name: ``egit`` trains, ``dogrula`` repeats a training to check its result,
    ``olc`` measures losses, ``on_isle`` makes rows of text, of which ``shard`` is the chunk."""

    name = "leased"
    lease_id: str
    round: int
    rounds: int
    shard: int
    shards: int
    inner_steps: int
    resumed: bool
    job: str = "egit"

    def text(self) -> str:
        again = " (continued)" if self.resumed else ""
        if self.job == "on_isle":
            return f"preparing text, chunk {self.shard} of {self.shards}{again}"
        what = "repeating a result to check it: " if self.job == "dogrula" else ""
        return (
            f"{what}round {self.round} of {self.rounds}, shard {self.shard} of {self.shards}, "
            f"{self.inner_steps} steps{again}"
        )


@dataclass(frozen=True)
class Downloaded(Event):
    """``what``: snapshot or data. ``bytes_down``: all bodies received since the start."""

    name = "downloaded"
    lease_id: str
    what: str
    bytes: int
    sha256: str
    bytes_down: int

    def text(self) -> str:
        return f"{self.what} ready, {size(self.bytes)}"


@dataclass(frozen=True)
class Step(Event):
    """``step`` counts from 1."""

    name = "step"
    lease_id: str
    round: int
    step: int
    steps: int
    loss: float
    tokens_per_s: float

    def text(self) -> str:
        return (
            f"step {self.step} of {self.steps}: loss {self.loss:.4f}, "
            f"{self.tokens_per_s:.0f} tokens/s"
        )


@dataclass(frozen=True)
class Trained(Event):
    name = "trained"
    lease_id: str
    round: int
    steps: int
    tokens: int
    loss_first: float
    loss_last: float
    loss_mean: float
    train_s: float
    sha256: str

    def text(self) -> str:
        return (
            f"trained {self.tokens} tokens in {self.train_s:.1f} s, "
            f"loss {self.loss_first:.4f} to {self.loss_last:.4f}"
        )


@dataclass(frozen=True)
class Scored(Event):
    """The mean loss of each candidate of an ``olc`` task; ``tokens`` of the task's own data."""

    name = "scored"
    lease_id: str
    round: int
    losses: list[float]
    tokens: int
    seconds: float

    def text(self) -> str:
        losses = ", ".join(f"{loss:.4f}" for loss in self.losses)
        return f"measured loss {losses} in {self.seconds:.1f} s"


@dataclass(frozen=True)
class Prepared(Event):
    """Rows were made of ``kept`` of a text's ``lines``; the text is deleted."""

    name = "prepared"
    lease_id: str
    round: int
    lines: int
    kept: int
    rows: int
    seconds: float

    def text(self) -> str:
        return (
            f"kept {self.kept} of {self.lines} articles, {self.rows} rows, in {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class Uploaded(Event):
    """The coordinator has every byte. ``bytes_up``: all bodies sent since the start."""

    name = "uploaded"
    lease_id: str
    round: int
    bytes: int
    bytes_up: int

    def text(self) -> str:
        return f"result sent, {size(self.bytes)}"


@dataclass(frozen=True)
class Verdict(Event):
    """``code`` is the protocol's ``kod``, empty when accepted."""

    name = "verdict"
    lease_id: str
    round: int
    accepted: bool
    code: str
    detail: str

    def text(self) -> str:
        if self.accepted:
            return f"result of round {self.round} accepted"
        return f"result of round {self.round} NOT accepted: {self.detail}"


@dataclass(frozen=True)
class Fate(Event):
    """What became of an accepted result: ``birlesti``, ``elendi``, ``denetlenemedi``, ``ret``
    (protocol v1's words) or ``silindi`` (no longer known)."""

    name = "fate"
    lease_id: str
    round: int
    fate: str
    code: str

    def text(self) -> str:
        why = SCREENED.get(self.code)
        told = FATES.get(self.fate, self.fate) + (f": {why}" if why else "")
        return f"result of round {self.round} {told}{f' [{self.code}]' if self.code else ''}"


@dataclass(frozen=True)
class Waiting(Event):
    name = "waiting"
    seconds: float
    reason: str

    def text(self) -> str:
        return f"waiting {self.seconds:.0f} s: {self.reason}"


@dataclass(frozen=True)
class Abandoned(Event):
    """A task was dropped without a result; ``lease_id`` may come back when ``resumable``."""

    name = "abandoned"
    lease_id: str
    reason: str
    resumable: bool

    def text(self) -> str:
        return f"task dropped: {self.reason}"


@dataclass(frozen=True)
class Restarted(Event):
    """The training process died and a new one takes its place."""

    name = "restarted"
    reason: str

    def text(self) -> str:
        return f"starting a new training process: {self.reason}"


@dataclass(frozen=True)
class Stopping(Event):
    name = "stopping"
    doing: str

    def text(self) -> str:
        return f"stopping: {self.doing} (Ctrl-C again ends at once)"


@dataclass(frozen=True)
class Finished(Event):
    """The end, with totals since the start. ``reason``: run_over, tasks_done, stopped, error."""

    name = "finished"
    reason: str
    accepted: int
    refused: int
    steps: int
    tokens: int
    train_s: float
    bytes_up: int
    bytes_down: int
    wall_s: float

    def text(self) -> str:
        why = {
            "run_over": "the run is over, thank you",
            "tasks_done": "the tasks asked for are done",
            "stopped": "stopped as you asked",
            "error": "ended by an error",
        }[self.reason]
        return (
            f"{why}: {self.accepted} results accepted, {self.refused} not, {self.tokens} tokens "
            f"in {self.train_s:.0f} s of training, {size(self.bytes_up)} up, "
            f"{size(self.bytes_down)} down"
        )


@dataclass(frozen=True)
class Error(Event):
    """Something a person should know. ``fatal``: the worker ends because of it."""

    name = "error"
    code: str
    message: str
    fatal: bool

    def text(self) -> str:
        return self.message


def size(count: int) -> str:
    """``count`` bytes for people: ``40.4 MB``."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{count} bytes" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
