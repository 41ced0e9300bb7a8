"""The whole suite against coordinators that keep to the protocol."""

from pathlib import Path

from tests.conformance.subjects import EXAMPLE, FULLER, examine, serving
from tests.coordination.preparing.conftest import write_articles
from tests.e2e.site import Site
from worker_client.conformance.check import Outcome, Result
from worker_client.conformance.checks import coordinator
from worker_client.models.seeded_base import tokenizer_json


def by_result(outcomes: list[Outcome]) -> dict[Result, set[str]]:
    """Ids by result; failures with what was seen."""
    found: dict[Result, set[str]] = {result: set() for result in Result}
    for outcome in outcomes:
        told = f": {outcome.detail}" if outcome.result is Result.FAILED else ""
        found[outcome.result].add(outcome.check.id + told)
    return found


# What no open run of two shards shows, on any coordinator.
HIDDEN = {"lease-limit", "file-labels", "file-retention", "all-waits"}
CLOSED = {check.id for check in coordinator.select(["closed-*"])}
NOT_INT8 = {"encoding-four-bits", "encoding-positions", "encoding-not-finite"}
OPTIONAL = (
    "register-", "receipts-", "progress-", "chunk-", "accepted-chunks", "expired-", "encoding-",
    "merge-encoded", "update-", "measure-", "judge-", "verify-", "dispute-",
    "text-",
)  # fmt: skip


def hidden(found: dict[Result, set[str]]) -> set[str]:
    """What was not observable, but for what never is."""
    return {id for id in found[Result.NOT_OBSERVABLE] if not id.startswith("unseen-")}


def test_the_minimal_coordinator_keeps_to_all_it_has(run_folder: Path) -> None:
    with serving(EXAMPLE.read_text("utf-8"), run_folder) as url:
        found = by_result(examine(url))
    assert not found[Result.FAILED]
    assert hidden(found) == HIDDEN | CLOSED
    assert all(id.startswith(OPTIONAL) for id in found[Result.ABSENT])
    assert "merge-momentum" in found[Result.PASSED]


def test_the_embedded_coordinator_keeps_to_all_of_it(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        site.make_run("suite", rounds=3, lease_seconds=5, shards=3, rule="mean", encoding="int8")
        site.start()
        found = by_result(examine(site.base("suite")))
    assert not found[Result.FAILED]
    assert all(
        id.startswith(("update-", "measure-", "judge-", "text-")) for id in found[Result.ABSENT]
    )
    # Its server closes a line that ends too early, without an answer that nobody could read.
    assert hidden(found) == (HIDDEN | CLOSED | NOT_INT8 | {"result-short"}) - {"lease-limit"}


def test_the_embedded_coordinator_measured_with_updates_and_closed(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        site.make_run("updates", rounds=2, downlink="int8", rule="mean")
        site.make_run("measured", rounds=1, languages=["tr", "en"])
        site.make_run("judged", rounds=2, languages=["tr"], rule="mean")
        site.make_run("closed", open_to_all=False)
        (tmp_path / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
        text = write_articles(tmp_path / "articles.jsonl", 4)
        how = ("--format", "scratch-tiny", "--tokenizer", str(tmp_path / "tokenizer.json"))
        site.manage("create_run", "raw", "--raw", str(text), *how, "--shards", "1", "--rounds", "1")
        site.start()
        parts = {
            "updates": "update-*",
            "measured": "measure-*",
            "judged": "judge-*",
            "closed": "closed-*",
            "raw": "text-*",
        }

        def let(text: str) -> None:
            for name in text.partition(": ")[2].split():
                site.manage("workers", "raw", "show_text", name)

        found = by_result(
            [o for slug, part in parts.items() for o in examine(site.base(slug), part, ask=let)]
        )
    assert found[Result.PASSED] == {check.id for check in coordinator.select(parts.values())}


def test_a_closed_run_fails_no_check(tmp_path: Path, run_folder: Path) -> None:
    with serving(FULLER.read_text("utf-8"), run_folder, "acik=") as url:
        found = by_result(examine(url))
    assert not found[Result.FAILED]
    assert CLOSED <= found[Result.PASSED]
