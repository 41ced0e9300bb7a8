"""What is written to disk about work in hand and work delivered."""

from pydantic import BaseModel

from worker_client.contract.wire import Task


class FinishedResult(BaseModel):
    """A result file as it was sealed; these numbers are never computed again."""

    sha256: str
    size: int
    tokens: int
    train_s: float
    loss: float | None = None


class Pseudonym(BaseModel):
    """A name at one coordinator: the token that owns it, and how many requests were drawn."""

    name: str
    token: str
    sequence: int = 0


class Work(BaseModel):
    """The attempt in hand: asked for, then leased (``task``), then trained (``result``)."""

    worker: str
    request_id: str
    sequence: int | None = None
    task: Task | None = None
    result: FinishedResult | None = None


class Held(BaseModel):
    """The newest snapshot that lies whole among the files."""

    round: int
    sha256: str


class Delivered(BaseModel):
    """An accepted result whose fate is still open."""

    lease_id: str
    lease_key: str
    round: int
    sha256: str


class DeliveredList(BaseModel):
    results: list[Delivered] = []


class Name(BaseModel):
    name: str
