"""A run whose results travel as topk deltas, by two volunteers in processes of their own."""

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
        site.make_run(SLUG, rounds=ROUNDS, inner_steps=3, encoding="topk", lr=1e-3)
        site.start()
        workers = [site.worker(SLUG, name) for name in ("ada", "bob")]
        assert [worker.wait() for worker in workers] == [0, 0]
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
