"""Results as topk deltas, snapshots as int4 updates, by two volunteers in their own processes."""

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
        site.make_run(SLUG, rounds=ROUNDS, inner_steps=3, encoding="topk", downlink="int4", lr=1e-3)
        site.start()
        site.workers = [site.worker(SLUG, name) for name in ("ada", "bob")]
        assert [worker.wait() for worker in site.workers] == [0, 0]
        yield site


def test_every_result_is_merged_and_small(site):
    rows = site.rows("select state, size, update_norm from coordination_result")
    assert [state for state, _, _ in rows] == ["merged"] * (2 * ROUNDS)
    whole = 4 * 8192  # bytes of the tiny format's weights
    assert all(size < whole / 20 and norm > 0 for _, size, norm in rows)


def test_volunteers_keep_what_was_left_out(site):
    for name in ("ada", "bob"):
        (residual,) = (site.folder / name).rglob("residual.f32")
        left = np.fromfile(residual, "<f4")
        assert len(left) == 8192 and np.isfinite(left).all() and left.any()
        assert not list((site.folder / name).rglob("*.left"))


def test_whoever_holds_the_last_snapshot_fetches_an_update(site):
    found = []
    for worker in site.workers:
        rounds = [event["round"] for event in worker.named("leased")]
        kinds = [event["what"] for event in worker.named("downloaded") if event["what"] != "data"]
        for before, now, kind in zip([None, *rounds], rounds, kinds, strict=False):
            found.append(kind)
            assert kind == ("update" if before is not None and before == now - 1 else "snapshot")
    assert found.count("update") >= ROUNDS - 1  # one of two took part in each


def test_what_is_published_is_what_the_updates_lead_to(site):
    rows = site.rows("select sha256, delta_sha256 from coordination_snapshot order by number")
    assert rows[0][1] == "" and all(update for _, update in rows[1:])
    held = {path.name for name in ("ada", "bob") for path in (site.folder / name).rglob("files/*")}
    assert rows[ROUNDS - 1][0] in held
