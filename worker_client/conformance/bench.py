"""What every check of a coordinator works with: workers, leases, files, and what was delivered."""

import base64
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from pydantic import ValidationError

from worker_client.conformance import weights
from worker_client.conformance.check import Failed, NotObservable, demand
from worker_client.conformance.http import Reply, Speaker, expect_status
from worker_client.contract import LEASE_KEY_HEADER, wire
from worker_client.contract.errors import Refusal
from worker_client.contract.formats import Format, UnknownFormat, load_format
from worker_client.version import VERSION

LONGEST_LEASE_S = 10
# A server may look for what is overdue only every few seconds.
GRACE_S = 20.0
PUBLISH_S = 60.0
POLL_S = 0.2
FEW = 4
M = TypeVar("M", bound=wire.Message)
OVER = "the run is over; begin a fresh one"
CLOSED = "the run is closed: nobody works without an approved token; make an open one for this"


@dataclass
class Volunteer:
    """A pseudonym of this test, with its token where the coordinator registers them, and the
    address that it speaks from where that matters."""

    name: str
    token: str | None = None
    source: str | None = None


@dataclass
class Lease:
    volunteer: Volunteer
    request_id: str
    reply: Reply
    task: wire.Task
    granted: float = field(default_factory=time.monotonic)

    @property
    def id(self) -> str:
        return self.task.lease_id

    @property
    def key(self) -> dict[str, str]:
        return {LEASE_KEY_HEADER: self.task.lease_key}

    @property
    def address(self) -> str:
        return f"/sonuc?gorev={self.id}"


@dataclass(frozen=True)
class Delivered:
    """A result that was accepted."""

    lease: Lease
    vector: weights.Weights
    file: bytes
    reply: Reply


@dataclass(frozen=True)
class Person:
    """Somebody who decides about workers where the coordinator is run: ``ask`` is told what is to
    be done, once, and the test then waits ``patience`` seconds for it."""

    ask: Callable[[str], None]
    patience: float


class Bench:
    """One coordinator under test; without a ``person`` nobody lets its workers do more than any
    stranger may."""

    def __init__(self, base_url: str, person: Person | None = None) -> None:
        self.http = Speaker(base_url)
        self.person = person
        self.volunteers: list[Volunteer] = []
        self.repeaters: list[Volunteer] = []
        # What else has to be done while a round is to be finished.
        self.chores: list[Callable[[], None]] = []
        self.held: list[Lease] = []
        self.granted: list[Lease] = []
        # Name, istek, gorev and anahtar of each lease answer, also of those that repeat.
        self.answered: set[tuple[str, str, str, str]] = set()
        self.delivered: list[Delivered] = []
        self.scenes: dict[str, Any] = {}
        self._files: dict[str, bytes] = {}
        self._seed = 0

    # Facts

    @cached_property
    def about(self) -> wire.About | None:
        """``/bilgi``, or None where there is none or it is wrong."""
        reply = self.http.send("GET", "/bilgi")
        try:
            return wire.About.model_validate_json(reply.body) if reply.status == 200 else None
        except ValidationError:
            return None

    @cached_property
    def is_closed(self) -> bool:
        """Whether a new name waits for approval."""
        if self.about is not None:
            return not self.about.open_to_all
        return self.register(Volunteer(*draw())).json.get("durum") == "bekliyor"

    def demand_open(self) -> None:
        """Raises NotObservable in a closed run."""
        if self.is_closed:
            raise NotObservable(CLOSED)

    def status(self) -> wire.Status:
        return parse(expect_status(self.http.send("GET", "/durum"), 200), wire.Status)

    # Leases

    def volunteer(self) -> Volunteer:
        """One that holds no task."""
        busy = {lease.volunteer.name for lease in self.held}
        free = [one for one in self.volunteers if one.name not in busy]
        if not free:
            free = [self.newcomer()]
            self.volunteers += free
        return free[0]

    def newcomer(self) -> Volunteer:
        """A new pseudonym; raises NotObservable in a closed run."""
        self.demand_open()
        one = Volunteer(*draw())
        if self.register(one).status != 201:
            one.token = None
        return one

    def register(self, one: Volunteer, **fields: Any) -> Reply:
        """``POST /kayit``."""
        body = {"isci": one.name, "belirtec": one.token} | fields
        return self.http.send("POST", "/kayit", json=body, source=one.source)

    def speak(self, one: Volunteer, method: str, path: str, **options: Any) -> Reply:
        """A request as this volunteer makes it."""
        return self.http.send(method, path, token=one.token, source=one.source, **options)

    def ask(self, one: Volunteer, request_id: str | None = None, **fields: Any) -> Reply:
        """One ``POST /gorev``; a task that it brings counts as held."""
        request_id = request_id or secrets.token_hex(16)
        body = {"isci": one.name, "istek": request_id, "elde": 1} | fields
        reply = self.speak(one, "POST", "/gorev", json=body)
        if reply.status == 200:
            found = reply.json
            told = str(found.get("gorev")), str(found.get("anahtar"))
            self.answered.add((one.name, request_id, *told))
        if reply.status == 200 and reply.json.get("gorev") not in {g.id for g in self.granted}:
            lease = Lease(one, request_id, reply, parse(reply, wire.Task))
            self.held.append(lease)
            self.granted.append(lease)
        return reply

    def lease(self, patience: float | None = None, **fields: Any) -> Lease:
        """A fresh task, waiting for one as long as an abandoned lease may still live.

        Raises:
            NotObservable: the run is over, or there was no work.
            Failed: another answer.
        """
        until = time.monotonic() + (LONGEST_LEASE_S + GRACE_S if patience is None else patience)
        while True:
            reply = self._ask_for_somebody(**fields)
            if reply.status == 200:
                return self.granted[-1]
            if reply.status == 410:
                raise NotObservable(OVER)
            if reply.status != 204 and reply.kod != Refusal.WORKER_BUSY.code:
                raise Failed(f"{reply}, not a task")
            if time.monotonic() > until:
                raise NotObservable(f"{reply}: no task for a while; does somebody else work here?")
            time.sleep(POLL_S)

    def _ask_for_somebody(self, **fields: Any) -> Reply:
        one = self.volunteer()
        reply = self.ask(one, **fields)
        if reply.kod == Refusal.WORKER_BUSY.code:
            self._retire(one)
        elif reply.status == 204 and one in self.volunteers:
            # What is left may be barred to this one alone.
            self.volunteers.remove(one)
            self.volunteers.append(one)
            if len(self.volunteers) < FEW:
                self.volunteers.insert(0, self.newcomer())
        return reply

    def neighbour(self, number: int) -> Volunteer:
        """A volunteer at another address of this computer.

        Raises:
            NotObservable: the coordinator is elsewhere, or there is no such address.
        """
        host, source = urlsplit(self.http.base_url).hostname, f"127.0.0.{number}"
        try:
            if host not in ("localhost", "127.0.0.1"):
                raise OSError(f"the coordinator is at {host}")
            socket.create_server((source, 0)).close()
        except OSError as error:
            raise NotObservable(
                f"it takes several addresses, so a coordinator at 127.0.0.1: {error}"
            ) from None
        one = self.newcomer()
        one.source = source
        return one

    def _retire(self, one: Volunteer) -> None:
        """Let another work on: a coordinator may give fewer tasks to one whose tasks came to
        nothing, as most of the suite's do."""
        if any(lease.volunteer is one for lease in self.granted):
            self.volunteers.remove(one)

    def lives(self, lease: Lease) -> bool:
        """Whether the lease's request still gets the same task."""
        reply = self.ask(lease.volunteer, lease.request_id)
        return reply.status == 200 and reply.json.get("gorev") == lease.id

    def spend(self, lease: Lease) -> Reply:
        """End a lease by a body that is no file, so that its unit is free again."""
        return self.post(lease, b"no safetensors file " + secrets.token_bytes(8))

    def tidy(self) -> None:
        """End whatever tasks a check left open."""
        for lease in self.held:
            try:
                self.spend(lease)
            except Failed:
                continue  # it will expire
        self.held.clear()

    # Files

    def start(self, lease: Lease) -> weights.Weights:
        """The snapshot that the lease starts from."""
        return weights.read_weights(self.snapshot(lease), lease.task.snapshot.path)

    def snapshot(self, lease: Lease) -> bytes:
        return self.file(lease.task.snapshot)

    def file(self, ref: wire.FileRef) -> bytes:
        """The whole file, fetched once."""
        if ref.sha256 not in self._files:
            data = expect_status(self.http.fetch(ref.path), 200).body
            found = (weights.sha256(data), len(data))
            demand(found == (ref.sha256, ref.size), f"{ref.path} is not what the lease announced")
            self._files[ref.sha256] = data
        return self._files[ref.sha256]

    # Results

    def honest(self, lease: Lease) -> weights.Weights:
        """Weights that a worker could have trained; each call draws others."""
        self._seed += 1
        start = self.start(lease)
        norm = weights.NOISE_OF_LIMIT * self.norm_limit(lease, start)
        return start.moved(weights.noise(start.values.size, norm, self._seed))

    def norm_limit(self, lease: Lease, start: weights.Weights) -> float:
        return weights.norm_limit(lease.task.lr, lease.task.inner_steps, start.values.size)

    def metadata(self, lease: Lease) -> dict[str, str]:
        task = lease.task
        return {
            "gorev": lease.id,
            "tur": str(task.round),
            "kayip_ilk": "3.0",
            "kayip_son": "2.5",
            "kayip": "2.75",
            "token": str(task.batch_size * task.seq_len * task.inner_steps),
            "sure_s": "1.0",
            "cihaz": "conformance",
            "dtype": "float32",
            "surum": VERSION,
        }

    def post(
        self, lease: Lease, body: bytes, headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """``POST /sonuc`` with the right digest unless ``headers`` say otherwise."""
        usual = {"Content-Digest": content_digest(body), "Content-Type": "application/octet-stream"}
        sent = usual | lease.key | dict(headers or {})
        return self.speak(lease.volunteer, "POST", lease.address, data=body, headers=sent)

    def fate(self, lease: Lease) -> Reply:
        """``GET /sonuc``."""
        return self.speak(lease.volunteer, "GET", lease.address, headers=lease.key)

    def deliver(self, lease: Lease, order: np.ndarray | None = None) -> Delivered:
        """Deliver an honest result in one piece; raises Failed if it is refused."""
        vector = self.honest(lease)
        file = vector.file(self.metadata(lease), None if order is None else order.tolist())
        return self.note(Delivered(lease, vector, file, self.post(lease, file)))

    def note(self, delivered: Delivered) -> Delivered:
        """Remember an accepted result; raises Failed if it was not."""
        expect_status(delivered.reply, 200)
        demand(delivered.reply.json.get("kabul") is True, f"{delivered.reply} lacks kabul: true")
        self.delivered.append(delivered)
        if delivered.lease in self.held:
            self.held.remove(delivered.lease)
        return delivered

    def finish_round(self, number: int) -> None:
        """Deliver until round ``number`` is published.

        Raises:
            Failed: it does not come.
        """
        until = time.monotonic() + PUBLISH_S
        while not self.is_published(number):
            told = self.status()
            demand(
                time.monotonic() < until,
                f"round {number} was not published for {PUBLISH_S} s: {told.tasks}, {told.state}",
            )
            self.repeat_what_is_asked()
            for chore in self.chores:
                chore()
            reply = self._ask_for_somebody()
            if reply.status == 200:
                self.deliver(self.granted[-1])
            else:
                time.sleep(POLL_S)

    def fill_round(self, number: int) -> None:
        """Deliver all that round ``number`` still lacks, whether it is checked or not.

        Raises:
            NotObservable: somebody else holds a unit of it.
        """
        for _ in range(2 * FEW):  # a unit may be barred to some
            while (reply := self._ask_for_somebody()).status == 200:
                if self.granted[-1].task.round != number:
                    return
                self.deliver(self.granted[-1])
            status = self.status()
            if reply.status == 410 or status.round != number or not status.tasks.free:
                return
        raise NotObservable(f"round {number} has a unit that nobody is given")

    def repeat_what_is_asked(self) -> None:
        """Repeat, as its author made it, whatever the repeaters are given."""
        for one in self.repeaters:
            while (reply := self.ask(one, isler=["dogrula"])).status == 200:
                lease = self.granted[-1]
                task = lease.task.training
                made = [d for d in self.in_round(task.round) if d.lease.task.shard == task.shard]
                demand(made, f"{reply} repeats parca {task.shard}, which nobody delivered")
                file = made[-1].vector.file(self.metadata(lease))
                expect_status(self.post(lease, file), 200, 409)
                self.held.remove(lease)

    def is_published(self, number: int) -> bool:
        return any(row.round == number for row in self.status().history)

    def in_round(self, number: int) -> list[Delivered]:
        """What was accepted in a round, in order of ``parca``."""
        found = [d for d in self.delivered if d.lease.task.round == number]
        return sorted(found, key=lambda d: d.lease.task.shard)


def draw() -> tuple[str, str]:
    """A new name, and a secret of 256 bits."""
    return f"suite-{secrets.token_hex(6)}", f"mwk_{secrets.token_urlsafe(32)}"


def content_digest(body: bytes) -> str:
    digest = base64.b64encode(bytes.fromhex(weights.sha256(body))).decode()
    return f"sha-256=:{digest}:"


def known_format(id: str) -> Format:
    """Raises NotObservable for a format of somebody else's."""
    try:
        return load_format(id)
    except UnknownFormat:
        raise NotObservable(f"this program does not know format {id}") from None


def parse(reply: Reply, message: type[M]) -> M:
    """The body as a message; raises Failed with the field that is wrong."""
    try:
        return message.model_validate_json(reply.body)
    except ValidationError as error:
        raise Failed(f"{reply}: {wire.explain(error)}") from None
