"""Results as topk deltas and snapshots as int4 updates, between a server and a volunteer."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.site import Site

SLUG, ROUNDS = "sparse", 4


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Site]:
    """The run is over."""
    with Site(tmp_path_factory.mktemp("sparse"), models) as site:
        site.make_run(
            SLUG, shards=1, rounds=ROUNDS, inner_steps=3, encoding="topk", downlink="int4", lr=1e-3
        )
        site.start()
        site.workers = [site.worker(SLUG, "ada")]
        assert site.workers[0].wait() == 0
        yield site


def test_every_result_is_merged_and_small(site):
    rows = site.rows("select state, size, update_norm from coordination_result")
    assert [state for state, _, _ in rows] == ["merged"] * ROUNDS
    whole = 4 * 8192  # bytes of the tiny format's weights
    assert all(size < whole / 20 and norm > 0 for _, size, norm in rows)


def test_the_volunteer_keeps_what_was_left_out(site):
    (residual,) = (site.folder / "ada").rglob("residual.f32")
    left = np.fromfile(residual, "<f4")
    assert len(left) == 8192 and np.isfinite(left).all() and left.any()
    assert not list((site.folder / "ada").rglob("*.left"))


def test_whoever_holds_the_last_snapshot_fetches_an_update(site):
    told = site.workers[0].named("downloaded")
    kinds = [event["what"] for event in told if event["what"] != "data"]
    assert kinds == ["snapshot"] + ["update"] * (ROUNDS - 1)


def test_what_is_published_is_what_the_updates_lead_to(site):
    rows = site.rows("select sha256, delta_sha256 from coordination_snapshot order by number")
    assert rows[0][1] == "" and all(update for _, update in rows[1:])
    held = {path.name for path in (site.folder / "ada").rglob("files/*")}
    assert rows[ROUNDS - 1][0] in held
