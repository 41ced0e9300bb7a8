"""What must hold of a run, whatever happened to it: it ended, nothing is lost or counted twice."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Ask = Callable[..., list[tuple]]


@dataclass(frozen=True)
class Judgement:
    """``rounds`` that were published; results ``lost`` although accepted; results that count
    ``twice``; and the digest of the last snapshot."""

    rounds: int
    lost: int
    twice: int
    snapshot: str

    @property
    def faults(self) -> list[str]:
        counts = {"accepted but not merged": self.lost, "counted twice": self.twice}
        return [f"{count} results {what}" for what, count in counts.items() if count]


def judge_run(ask: Ask, slug: str, told: Iterable[str]) -> Judgement:
    """Look at what the run ``slug`` left in the database.

    Args:
        ask: runs a query with ``?`` for each value.
        told: the leases whose results were accepted, as their workers heard it.
    """
    merged = ask(
        "select lease.token, unit.id, result.sha256 " + RESULTS + "and result.state = 'merged'",
        slug,
    )
    counted = sum(row[0] for row in ask("select accepted " + ROUNDS, slug))
    published = ask("select 1 " + ROUNDS + "and round.state = 'published'", slug)
    snapshots = ask(
        "select sha256 from coordination_snapshot snapshot join coordination_run run "
        "on run.id = snapshot.run_id where run.slug = ? order by number",
        slug,
    )
    units = {row[1] for row in merged}
    return Judgement(
        rounds=len(published),
        lost=len(set(told) - {row[0] for row in merged}) + max(0, len(merged) - counted),
        twice=len(merged) - len(units) + max(0, counted - len(merged)),
        snapshot=snapshots[-1][0],
    )


def how_it_stands(ask: Ask, slug: str) -> Iterator[str]:
    """Lines about a run that does not end and its open round, for whoever looks for the reason."""
    for what, query in STANDING.items():
        for row in ask(query + "where run.slug = ? and round.state <> 'published'", slug):
            yield f"{what}: {row}"


ROUNDS = (
    "from coordination_round round join coordination_run run on run.id = round.run_id "
    "where run.slug = ? "
)
RESULTS = (
    "from coordination_result result "
    "join coordination_lease lease on lease.id = result.lease_id "
    "join coordination_unit unit on unit.id = result.unit_id "
    "join coordination_round round on round.id = unit.round_id "
    "join coordination_run run on run.id = round.run_id where run.slug = ? "
)
LEASES = (
    "from coordination_lease lease "
    "join coordination_unit unit on unit.id = lease.unit_id "
    "join coordination_worker worker on worker.id = lease.worker_id "
    "join coordination_round round on round.id = unit.round_id "
    "join coordination_run run on run.id = round.run_id "
)
UNITS = (
    "from coordination_unit unit join coordination_round round on round.id = unit.round_id "
    "join coordination_run run on run.id = round.run_id "
)
STANDING = {
    "run and round": "select run.state, run.pause_reason, round.number, round.state, "
    "round.attempt, round.opened_at, round.deadline_at, round.merge_claimed_at "
    "from coordination_round round join coordination_run run on run.id = round.run_id ",
    "unit": "select unit.id, unit.job, unit.shard, unit.state " + UNITS,
    "lease": "select worker.name, worker.quota, unit.id, lease.state, lease.granted_at, "
    "lease.expires_at " + LEASES,
}
