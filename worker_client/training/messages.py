"""The line protocol between the worker's parent process and its training child.

One JSON object per line. The parent writes commands to the child's standard input::

    {"cmd": "load", "format": "...", "models_dir": "...", "device": "auto", "threads": 2}
    {"cmd": "train", "lease_id": "...", "round": 1, ..., "snapshot": PATH, "data": PATH,
     "out": PATH}
    {"cmd": "evaluate", "lease_id": "...", "round": 1, ...,
     "subjects": [{"weights": PATH, "data": PATH, "shard": null}]}
    {"cmd": "prepare", "lease_id": "...", "round": 1, ..., "raw": PATH, "tokenizer": PATH,
     "out": PATH}
    {"cmd": "abandon"}       drop the task in hand before its next step
    {"cmd": "stop"}          drop it and exit with status 0

and reads events from its standard output::

    load     -> ready  | error
    train    -> step * inner_steps, then done | abandoned | error
    evaluate -> step for each batch, then scored | abandoned | error
    prepare  -> prepared | abandoned | error
    abandon  -> nothing while idle
    stop     -> the child exits

``load`` comes first, for all but ``prepare``, which needs no model; a second one replaces the
model. After an ``error`` the child is still there and takes the next command, unless ``code`` is
``child_died``. Its standard error is for people. It ignores Ctrl-C (the parent decides) and dies at
once when its input ends.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from worker_client.contract.wire import RAW_ENCODING, Task


class Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_line(self) -> str:
        return self.model_dump_json() + "\n"


class Load(Line):
    """Load a format's model: a base from the store with a fresh adapter, or a whole model.

    ``device`` is ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; ``threads`` None leaves torch's own
    choice; ``dtype`` is that of products: ``auto`` (bfloat16 where the device multiplies it
    natively), ``float32`` or ``bfloat16``.
    """

    cmd: Literal["load"] = "load"
    format: str
    models_dir: str | None = None
    device: str = "auto"
    threads: int | None = Field(default=None, ge=1)
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"


class Train(Line):
    """Train one task. ``snapshot`` and ``data`` are whole, digest-checked files; ``out`` is new.

    ``residual``: what earlier deltas left out, where the encoding feeds it back.
    """

    cmd: Literal["train"] = "train"
    lease_id: str
    round: int
    rounds: int
    inner_steps: int
    batch_size: int
    seq_len: int
    lr: float
    seed: int
    shard: int
    mode: Literal["cpt", "sft"]
    recipe: str = "v1"
    tokenizer_sha256: str | None = None
    encoding: str = RAW_ENCODING
    residual: str | None = None
    snapshot: str
    data: str
    out: str

    @classmethod
    def from_task(
        cls, task: Task, *, snapshot: str, data: str, out: str, residual: str | None = None
    ) -> "Train":
        """The command for a lease whose files lie at these paths."""
        training = task.training
        paths = {"snapshot": snapshot, "data": data, "out": out, "residual": residual}
        copied = set(cls.model_fields) - {"cmd", "lease_id", "mode", *paths}
        numbers = {name: getattr(training, name) for name in copied}
        return cls(lease_id=task.lease_id, mode=training.mode.value, **paths, **numbers)


class Subject(Line):
    """Weights to score on a shard; ``shard``: only the rows that training it takes."""

    weights: str
    data: str
    shard: int | None = None


class Evaluate(Line):
    """Score subjects; the files are whole and digest-checked."""

    cmd: Literal["evaluate"] = "evaluate"
    lease_id: str
    round: int
    inner_steps: int
    batch_size: int
    seq_len: int
    seed: int
    mode: Literal["cpt", "sft"]
    tokenizer_sha256: str | None = None
    subjects: list[Subject] = Field(min_length=1)

    @classmethod
    def from_task(cls, task: Task, subjects: list[Subject]) -> "Evaluate":
        copied = set(cls.model_fields) - {"cmd", "mode", "subjects"}
        numbers = {name: getattr(task, name) for name in copied}
        return cls(mode=task.mode.value, subjects=subjects, **numbers)


class Prepare(Line):
    """Make rows of a chunk of raw text. Both files are whole and digest-checked; ``out`` is new."""

    cmd: Literal["prepare"] = "prepare"
    lease_id: str
    round: int
    format: str
    seq_len: int
    languages: list[str] = []
    raw: str
    tokenizer: str
    out: str

    @classmethod
    def from_task(cls, task: Task, *, raw: str, tokenizer: str, out: str) -> "Prepare":
        copied = ("lease_id", "round", "format", "seq_len")
        numbers = {name: getattr(task, name) for name in copied}
        return cls(raw=raw, tokenizer=tokenizer, out=out, languages=task.languages or [], **numbers)


class Abandon(Line):
    cmd: Literal["abandon"] = "abandon"


class Stop(Line):
    cmd: Literal["stop"] = "stop"


class Ready(Line):
    """The model is loaded. ``device`` is for people (``cpu, 2 threads``, a GPU's name)."""

    event: Literal["ready"] = "ready"
    format: str
    device: str
    dtype: str
    threads: int
    seconds: float


class Step(Line):
    """Step or batch ``step`` (from 1) of ``steps`` is done; ``loss`` in nats per token."""

    event: Literal["step"] = "step"
    step: int
    steps: int
    loss: float
    tokens_per_s: float


class Done(Line):
    """The result lies complete and synced at ``path``; ``tokens`` counts training targets."""

    event: Literal["done"] = "done"
    lease_id: str
    path: str
    sha256: str
    size: int
    loss_first: float
    loss_last: float
    loss_mean: float
    tokens: int
    seconds: float
    device: str
    dtype: str


class Scored(Line):
    """The mean loss of each subject, and over how many tokens and bytes of the first one's data."""

    event: Literal["scored"] = "scored"
    lease_id: str
    losses: list[float]
    tokens: int
    bytes: int
    seconds: float
    device: str
    dtype: str


class Prepared(Line):
    """The rows lie complete and synced at ``path``; ``kept`` of the text's ``lines`` are in them.
    ``tokens`` are those that are predicted."""

    event: Literal["prepared"] = "prepared"
    lease_id: str
    path: str
    sha256: str
    size: int
    lines: int
    kept: int
    rows: int
    tokens: int
    seconds: float


class Abandoned(Line):
    event: Literal["abandoned"] = "abandoned"
    lease_id: str


class Failure(Line):
    """``code``: model_missing, model_corrupt, tokenizer_refused, device_missing, snapshot_refused,
    data_refused, not_finite, out_of_memory, bad_command, internal, or child_died (made by the
    parent's side).

    ``message`` is a sentence for people that names the remedy.
    """

    event: Literal["error"] = "error"
    code: str
    message: str


Command = Annotated[Load | Train | Evaluate | Prepare | Abandon | Stop, Field(discriminator="cmd")]
Event = Annotated[
    Ready | Step | Done | Scored | Prepared | Abandoned | Failure, Field(discriminator="event")
]
parse_command = TypeAdapter(Command).validate_json
parse_event = TypeAdapter(Event).validate_json
