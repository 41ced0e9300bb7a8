"""``on_isle``: raw text is for those that a person lets see it. The suite's workers are among them
only where somebody says that they are."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from worker_client.conformance import weights
from worker_client.conformance.bench import POLL_S, Bench, Lease, Volunteer, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import Reply, expect, expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal
from worker_client.contract.recipe import MOST_TOKENS_PER_BYTE

TEXT = wire.Job.PREPROCESS.value
NOBODY = "nobody lets the suite see text; --wait-for-person SECONDS says whom to let, and waits"
ROWS = "input_ids"


def _demand_text(bench: Bench) -> None:
    if bench.about is None or TEXT not in bench.about.jobs:
        raise Absent("isler in /bilgi does not name on_isle")


@check(
    "text-unseen",
    "A worker that may not see it gets whatever else it offers, or 204; one that offers nothing "
    "else is told 403 `onay_bekliyor`",
)
def text_unseen(bench: Bench) -> None:
    _demand_text(bench)
    both = expect_status(bench.ask(bench.newcomer(), isler=["egit", TEXT]), 200, 204)
    if both.status == 200:
        job = parse(both, wire.Task).job
        demand(job != wire.Job.PREPROCESS, "text for a worker whom nobody has let see it")
    stranger = bench.newcomer()
    if stranger.token is None:
        raise NotObservable("without tokens nobody has a name of its own")
    expect(bench.ask(stranger, isler=[TEXT]), Refusal.AWAITING_APPROVAL)


@check("text-files", "to everybody else 404 `yok`, never cached.")
def text_files(bench: Bench) -> None:
    _demand_text(bench)
    for name in ("ham_metin", "belirtec"):
        reply = bench.speak(bench.newcomer(), "GET", f"/{name}?gorev=suite-unknown")
        expect(reply, Refusal.NOT_FOUND)


# With somebody who lets the suite's workers see text


@dataclass(frozen=True)
class Answer:
    """Rows as nobody would make them of a text: ``n`` times the first token of the vocabulary."""

    lease: Lease

    def file(
        self,
        n: int = 0,
        *,
        seq: int | None = None,
        ids: int = 0,
        names: tuple[str, ...] = (ROWS,),
        dtype: str = "I32",
        **told: str,
    ) -> bytes:
        task = self.lease.task
        length = seq or task.seq_len
        metadata = {
            "belirtec_sha256": task.tokenizer_sha256 or "",
            "token": str(n * (task.seq_len - 1)),
            "bayt": str(n * task.seq_len),
        }
        specs = [(name, dtype, (n, length)) for name in names]
        rows = np.full(n * length, ids, "<i4").tobytes()
        return weights.safetensors(specs, [rows] * len(names), metadata | told)

    def longer(self) -> bytes:
        return self.file(1, seq=self.lease.task.seq_len + 1)

    def too_many(self) -> bytes:
        task = self.lease.task
        assert task.raw_text is not None
        return self.file(MOST_TOKENS_PER_BYTE * task.raw_text.size // task.seq_len + 1)


WRONG: list[tuple[Refusal, Callable[[Answer], bytes]]] = [
    (Refusal.CORRUPT_FILE, lambda answer: answer.file(1, ids=2**31 - 1)),
    (Refusal.CORRUPT_FILE, lambda answer: answer.file(1, belirtec_sha256="0" * 64)),
    (Refusal.CORRUPT_FILE, lambda answer: answer.file(1, token="1")),
    (Refusal.TENSOR_MISSING, lambda answer: answer.file(1, names=("rows",))),
    (Refusal.TENSOR_EXTRA, lambda answer: answer.file(1, names=(ROWS, "labels"))),
    (Refusal.WRONG_DTYPE, lambda answer: answer.file(1, dtype="F32")),
    (Refusal.WRONG_SHAPE, Answer.longer),
    (Refusal.WRONG_SHAPE, Answer.too_many),
]


def readers(bench: Bench) -> list[Volunteer]:
    """Workers that a person is asked to let see text: one for each answer that is refused, for
    whoever gave one may be barred from its chunk, and two more."""
    _demand_text(bench)
    if bench.person is None:
        raise NotObservable(NOBODY)
    if "readers" not in bench.scenes:
        bench.scenes["readers"] = [bench.newcomer() for _ in range(len(WRONG) + 2)]
        names = " ".join(one.name for one in bench.scenes["readers"])
        bench.person.ask(f"Let these workers see raw text: {names}")
    return bench.scenes["readers"]


def lease_text(bench: Bench) -> Lease:
    """A chunk to prepare, for whichever reader is given one.

    Raises:
        NotObservable: nobody lets them, or there is no text (any more).
    """
    everybody = readers(bench)
    assert bench.person is not None
    until = time.monotonic() + bench.person.patience
    for one in cycle(everybody):
        reply = bench.ask(one, isler=[TEXT])
        if reply.status == 200:
            return bench.granted[-1]
        expect_status(reply, 204, 403, 409, 410)
        if reply.status == 410 or time.monotonic() > until:
            raise NotObservable(
                f"{reply}: no text for any of {', '.join(r.name for r in everybody)}"
            )
        time.sleep(POLL_S)
    raise AssertionError("a cycle has no end")


# First, for a chunk is prepared once.
@check("text-refused", "An answer that is no such file is refused")
def text_refused(bench: Bench) -> str:
    for refusal, make in WRONG:
        lease = lease_text(bench)
        reply = bench.post(lease, make(Answer(lease)))
        bench.held.remove(lease)
        demand(reply.status != 200, f"{reply}: accepted where {refusal.code} belongs")
        expect(reply, refusal)
    return f"{len(WRONG)} answers"


@dataclass(frozen=True)
class Prepared:
    """A chunk and what became of it: the replies to whoever asked for its files while the lease
    lived, and to its holder afterwards."""

    lease: Lease
    strangers: list[Reply]
    verdict: Reply
    late: list[Reply]
    fate: Reply


def prepared(bench: Bench) -> Prepared:
    if "prepared" not in bench.scenes:
        lease = lease_text(bench)
        task = lease.task
        demand(
            task.job == wire.Job.PREPROCESS, f"on_isle was offered, and is says {task.job.value}"
        )
        assert task.raw_text and task.tokenizer, "the message holds that on_isle has both"
        refs = (task.raw_text, task.tokenizer)
        for ref in refs:
            _fetch(bench, lease.volunteer, ref)
        reader = next(one for one in readers(bench) if one is not lease.volunteer)
        others = (reader, Volunteer(lease.volunteer.name))
        strangers = [bench.speak(one, "GET", ref.path) for one in others for ref in refs]
        verdict = bench.post(lease, Answer(lease).file())
        bench.held.remove(lease)
        late = [bench.speak(lease.volunteer, "GET", ref.path) for ref in refs]
        fate = bench.fate(lease)
        bench.scenes["prepared"] = Prepared(lease, strangers, verdict, late, fate)
    return bench.scenes["prepared"]


def _fetch(bench: Bench, one: Volunteer, ref: wire.FileRef) -> None:
    body = expect_status(bench.speak(one, "GET", ref.path), 200).body
    found = (weights.sha256(body), len(body))
    demand(found == (ref.sha256, ref.size), f"{ref.path} is not what the lease announced")


@check("text-lease", "It has no `adaptor`, `veri` or `fark`")
def text_lease(bench: Bench) -> None:
    task = prepared(bench).lease.task
    given = {"adaptor": task.snapshot_file, "veri": task.data, "fark": task.delta}
    odd = [name for name, field in given.items() if field is not None]
    demand(not odd, f"a lease of text has {', '.join(odd)}")
    demand(task.round == 1, f"a lease of text belongs to tur {task.round}")
    demand(task.cleaning == "v1", f"temizlik is {task.cleaning}, and the rules are v1")


@check(
    "text-sizes",
    "`ham_metin` has at most 16 MiB, `belirtec` at most 64 MiB and the digest `belirtec_sha256`.",
)
def text_sizes(bench: Bench) -> str:
    task = prepared(bench).lease.task
    assert task.raw_text and task.tokenizer
    demand(task.raw_text.size <= wire.MAX_RAW_BYTES, f"ham_metin has {task.raw_text.size} bytes")
    demand(
        task.tokenizer.size <= wire.MAX_TOKENIZER_BYTES, f"belirtec has {task.tokenizer.size} bytes"
    )
    same = task.tokenizer.sha256 == task.tokenizer_sha256
    demand(same, "belirtec has another digest than belirtec_sha256")
    return f"{task.raw_text.size} bytes of text, {task.tokenizer.size} of tokenizer"


@check("text-holder", "Both are served to the holder of that lease while it lives, who shows its")
def text_holder(bench: Bench) -> str:
    seen = prepared(bench)
    for reply in (*seen.strangers, *seen.late):
        expect(reply, Refusal.NOT_FOUND)
    return f"{len(seen.strangers)} times to others, {len(seen.late)} after its end"


@check("text-taken", "n may be 0: then no line was kept, or too few, which is a result like any")
def text_taken(bench: Bench) -> None:
    seen = prepared(bench)
    verdict = parse(expect_status(seen.verdict, 200), wire.Verdict)
    found = (verdict.accepted, verdict.lease_id)
    demand(found == (True, seen.lease.id), f"{seen.verdict} says {seen.verdict.json}")


@check("text-used", "Its fate is `kullanildi`.")
def text_used(bench: Bench) -> None:
    """A coordinator that has compared the rows by now tells that they are not the text's."""
    fate = parse(expect_status(prepared(bench).fate, 200), wire.Fate)
    compared = (wire.ResultFate.SCREENED, "dogrulama_tutmadi")
    if (fate.fate, fate.code) == compared:
        raise NotObservable("the rows were compared at once, and the suite's are of no text")
    demand(fate.fate == wire.ResultFate.USED, f"a prepared chunk is {fate.fate.value}")
