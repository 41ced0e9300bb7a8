from datetime import UTC, datetime, timedelta

import pytest

from portal.models import Proof
from portal.verification.grace import next_check, proof_after

NOW = datetime(2030, 1, 1, tzinfo=UTC)
M, H, D = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("failures", "wait"),
    [(0, D), (1, 2 * M), (2, 15 * M), (3, H), (4, 6 * H), (5, 6 * H), (99, 6 * H)],
)
def test_next_look_is_about_then_and_never_quite(failures: int, wait: timedelta) -> None:
    waits = {next_check(NOW, failures) - NOW for _ in range(50)}
    assert all(0.9 * wait <= found <= 1.1 * wait for found in waits)
    assert len(waits) > 40


@pytest.mark.parametrize(
    ("failures", "failing", "denied", "proof"),
    [
        (1, 0 * M, None, Proof.VERIFIED),
        (5, 24 * H - M, None, Proof.VERIFIED),
        (5, 24 * H, None, Proof.STALE),
        (30, 7 * D - M, None, Proof.STALE),
        (30, 7 * D, None, Proof.UNVERIFIED),
        (1, 0 * M, 0 * M, Proof.VERIFIED),
        (3, H - M, H - M, Proof.VERIFIED),
        (4, H, H, Proof.STALE),
        (8, 24 * H - M, 24 * H - M, Proof.STALE),
        (8, 24 * H, 24 * H, Proof.UNVERIFIED),
        # Down for three days, then back with another page: the short grace begins there.
        (20, 3 * D, 0 * M, Proof.STALE),
        (24, 4 * D, 24 * H, Proof.UNVERIFIED),
        # This site was down itself and has looked only a few times.
        (1, 30 * D, None, Proof.STALE),
        (4, 30 * D, 30 * D, Proof.STALE),
        (5, 30 * D, None, Proof.UNVERIFIED),
    ],
)
def test_what_is_left_of_a_proof(
    failures: int, failing: timedelta, denied: timedelta | None, proof: Proof
) -> None:
    assert proof_after(failures, failing, denied) == proof
