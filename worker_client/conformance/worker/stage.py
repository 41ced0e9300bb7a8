"""A strict coordinator that hears everything, and that misbehaves where it is told to."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from worker_client.conformance.worker import material
from worker_client.contract.formats import AdapterFormat

BASE = "/c/stage"
CHUNK = 64 * 1024
LEASE_S = 600


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_ref(path: str, data: bytes) -> dict[str, Any]:
    return {"yol": path, "sha256": sha256(data), "boyut": len(data), "parca_boyut": CHUNK}


@dataclass(frozen=True)
class Heard:
    """A request as it came; ``path`` is what follows the base URL, ``at`` monotonic seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    at: float

    @property
    def place(self) -> str:
        return urlsplit(self.path).path


@dataclass
class StageLease:
    number: int
    id: str
    key: str
    request_id: str
    round: int
    granted: float
    announced: dict[str, Any] | None = None
    received: bytearray = field(default_factory=bytearray)
    results: list[bytes] = field(default_factory=list)
    commitments: list[str] = field(default_factory=list)
    ended: bool = False
    asked: dict[str, Any] = field(default_factory=dict)  # the lease request's body

    def offers(self, encoding: str) -> bool:
        return encoding in self.asked.get("kodlama", ["ham"])

    def does(self, job: str) -> bool:
        return job in self.asked.get("isler", ["egit"])


@dataclass
class Fault:
    """What happens, once, to the first request of ``method`` whose path begins with ``path``."""

    name: str
    method: str
    path: str
    act: "Callable[[Any], None]"
    heard: Heard | None = None
    answered: float = 0.0


@dataclass
class Stage:
    """One run. ``unwanted``, ``refused`` and ``whole`` number leases (from 1) that hear
    ``devam: false``, whose results are refused, and that take no chunks; results of ``left_out``
    are not merged. ``task_changes`` go over the fields of one lease after the other, and begin
    again."""

    fmt: AdapterFormat
    rounds: int = 2
    faults: list[Fault] = field(default_factory=list)
    unwanted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    with_about: bool = True
    registers: bool = False
    task_changes: "Sequence[Changes]" = ()
    round: int = 1
    leases: list[StageLease] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    over_told: list[float] = field(default_factory=list)
    registrations: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    port: int = 0

    def __post_init__(self) -> None:
        self.files = {"/adaptor": material.snapshot(self.fmt), "/veri": material.shard(self.fmt)}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{BASE}"

    def note(self, heard: Heard) -> Fault | None:
        """Remember a request; the fault that is due for it, if any."""
        self.heard.append(heard)
        for fault in self.faults:
            due = fault.heard is None and fault.method == heard.method
            if due and heard.path.startswith(fault.path):
                fault.heard = heard
                return fault
        return None

    def fault(self, name: str) -> Fault:
        return next(fault for fault in self.faults if fault.name == name)

    def requests(self, method: str, place: str) -> list[Heard]:
        return [h for h in self.heard if h.method == method and h.place.startswith(place)]

    def after(self, fault: Fault) -> list[Heard]:
        """What was heard after a fault's answer."""
        return [h for h in self.heard if fault.answered and h.at >= fault.answered]

    # What it says

    def about(self) -> dict[str, Any]:
        base = self.fmt.base_model
        return {
            "protokol": 1, "ad": "stage", "bicim": self.fmt.id, "taban_model": base.ref,
            "belirtec_sha256": base.tokenizer_sha256, "recete": "v1", "mod": "cpt",
            "tur": min(self.round, self.rounds), "tur_sayisi": self.rounds, "ic_adim": 2,
            "seq": material.SEQ, "n_parca": 1, "veri": True, "yeni_alan": {"suite": [1, None]},
        }  # fmt: skip

    def status(self) -> dict[str, Any]:
        return {
            "durum": "bitti" if self.round > self.rounds else "acik",
            "tur": min(self.round, self.rounds), "tur_sayisi": self.rounds, "isci_sayisi": 1,
            "gorev": {"bos": 1, "kirada": 0, "tamam": 0},
            "sonuc": {"kabul": self.round - 1, "ret": 0, "elenen": 0}, "gecmis": [],
        }  # fmt: skip

    def lease(self, request_id: str, asked: dict[str, Any] | None = None) -> StageLease:
        """The lease of a request, new or known."""
        for lease in self.leases:
            if lease.request_id == request_id:
                return lease
        number = len(self.leases) + 1
        key = sha256(f"{number}:{request_id}".encode())
        lease = StageLease(number, f"stage-{number}", key, request_id, self.round, time.monotonic())
        lease.asked = asked or {}
        self.leases.append(lease)
        return lease

    def task(self, lease: StageLease) -> dict[str, Any]:
        end = datetime.now(UTC) + timedelta(seconds=LEASE_S)
        task: dict[str, Any] = {
            "gorev": lease.id, "anahtar": lease.key, "is": "egit", "tur": lease.round,
            "tur_sayisi": self.rounds, "ic_adim": 2, "bs": 2, "seq": material.SEQ, "lr": 0.001,
            "tohum": 7, "parca": 0, "n_parca": 1, "mod": "cpt", "bicim": self.fmt.id,
            "recete": "v1", "taban_model": self.fmt.base_model.ref, "kodlama": "ham",
            "sure": LEASE_S, "son": end.isoformat(), "adaptor": self.file_ref("/adaptor"),
            "veri": self.file_ref("/veri"), "yeni_alan": "suite",
        }  # fmt: skip
        changes = self._changes(lease)
        task |= {name: merged(task.get(name), value) for name, value in changes.items()}
        if lease.asked.get("elde") != task["tur"] - 1:
            task.pop("fark", None)
        return task

    def _changes(self, lease: StageLease) -> dict[str, Any]:
        if not self.task_changes:
            return {}
        changes = self.task_changes[(lease.number - 1) % len(self.task_changes)]
        return changes(lease) if callable(changes) else changes

    def file_ref(self, path: str) -> dict[str, Any]:
        return file_ref(path, self.files[path])

    def fate(self, lease: StageLease) -> dict[str, Any]:
        if not lease.results:
            return {"durum": "bekliyor"}
        left_out = {"durum": "elendi", "kod": "yon_aykiri"}
        return left_out if lease.number in self.left_out else {"durum": "birlesti"}

    # What it takes

    def accept(self, lease: StageLease, data: bytes) -> None:
        """Remember a result; the first one of a lease ends its round."""
        if data not in lease.results:
            lease.results.append(data)
            if not lease.ended:
                self.round += 1
        lease.ended = True


# Fields that a lease has beside or instead of the usual ones.
Changes = dict[str, Any] | Callable[[StageLease], dict[str, Any]]


def merged(old: Any, new: Any) -> Any:
    """``new`` over ``old``, member by member where both are objects."""
    return old | new if isinstance(old, dict) and isinstance(new, dict) else new
