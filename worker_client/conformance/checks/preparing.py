"""``on_isle``: raw text is for those that a person lets see it, of whom the suite is none."""

from worker_client.conformance.bench import Bench, parse
from worker_client.conformance.check import Absent, NotObservable, demand
from worker_client.conformance.checks import coordinator as check
from worker_client.conformance.http import expect, expect_status
from worker_client.contract import wire
from worker_client.contract.errors import Refusal

TEXT = wire.Job.PREPROCESS.value


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
