"""Every check says which sentence of the protocol it is about, in the protocol's own words."""

import pytest

from tests.e2e.site import REPO
from worker_client.conformance.check import Check, Registry
from worker_client.conformance.checks import coordinator
from worker_client.contract.errors import Refusal

PROTOCOL = " ".join((REPO / "docs" / "protocol-v1.md").read_text("utf-8").split())


@pytest.mark.parametrize("check", coordinator.checks, ids=lambda check: check.id)
def test_the_clause_stands_in_the_protocol(check: Check) -> None:
    assert " ".join(check.clause.split()) in PROTOCOL


def test_every_refusal_of_a_result_has_a_check() -> None:
    """By the names of the table's codes in the checks' own source."""
    source = "".join(
        path.read_text("utf-8")
        for path in (REPO / "worker_client" / "conformance" / "checks").glob("*.py")
    )
    needs_more_than_a_black_box = {
        Refusal.TOO_MANY_NAMES,
        Refusal.WORKER_PAUSED,
        Refusal.WORKER_BLOCKED,
        Refusal.INTERNAL,
        Refusal.BUSY,
        Refusal.CHECKING,
        Refusal.DISK_FULL,
    }
    forgotten = [
        refusal.name
        for refusal in Refusal
        if f"Refusal.{refusal.name}" not in source and refusal not in needs_more_than_a_black_box
    ]
    assert not forgotten


def test_a_pattern_that_fits_nothing_is_an_error() -> None:
    with pytest.raises(LookupError, match="no-such"):
        coordinator.select(["file-*", "no-such-check"])


def test_a_pattern_selects_in_order() -> None:
    ids = [check.id for check in coordinator.select(["file-etag", "file-digest"])]
    assert ids == ["file-digest", "file-etag"]


def test_two_checks_cannot_share_an_id() -> None:
    registry = Registry()
    registry("one", "x")(lambda bench: None)
    with pytest.raises(ValueError, match="one"):
        registry("one", "x")(lambda bench: None)
