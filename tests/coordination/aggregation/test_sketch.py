"""Sketches stand for updates: their inner products and distances are about the updates'."""

import numpy as np
import pytest

from coordination.aggregation.sketch import SKETCH_FLOATS, TABLE_FLOATS, Sketcher

LENGTHS = [131_072, 5000, 131_072, 4096, 1, 70_000]
COUNT = sum(LENGTHS)


def sketch(update: np.ndarray, key: bytes = b"secret") -> np.ndarray:
    sketcher, begin = Sketcher(key), 0
    for length in LENGTHS:
        sketcher.add(update[begin : begin + length].astype(np.float32))
        begin += length
    return sketcher.finish()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_a_sketch_is_small_and_always_the_same(rng: np.random.Generator) -> None:
    update = rng.standard_normal(COUNT)
    assert sketch(update).shape == (SKETCH_FLOATS,)
    assert np.array_equal(sketch(update), sketch(update))
    assert not np.allclose(sketch(update), sketch(update, b"another secret"))


@pytest.mark.parametrize("cosine", [-1.0, -0.5, 0.0, 0.3, 0.9, 1.0])
def test_cosines_survive(rng: np.random.Generator, cosine: float) -> None:
    a, b = rng.standard_normal((2, COUNT))
    b = cosine * a + (1 - cosine**2) ** 0.5 * b
    found = sketch(a) @ sketch(b) / np.linalg.norm(sketch(a)) / np.linalg.norm(sketch(b))
    assert found == pytest.approx(cosine, abs=0.07)  # more than four standard errors


def test_small_distances_survive_as_well_as_large_ones(rng: np.random.Generator) -> None:
    a, noise = rng.standard_normal((2, COUNT))
    for apart in (1e-5, 1e-3, 1.0, 100.0):
        found = np.linalg.norm(sketch(a + apart * noise) - sketch(a))
        assert found == pytest.approx(apart * np.linalg.norm(noise), rel=0.15)


def test_one_value_alone_is_seen(rng: np.random.Generator) -> None:
    lonely = np.zeros(COUNT)
    lonely[rng.integers(COUNT)] = 7.0
    assert np.linalg.norm(sketch(lonely)) == pytest.approx(7.0)


def test_values_that_share_a_sign_of_the_table_do_not_cancel(rng: np.random.Generator) -> None:
    """A piece and its negative in the next whole piece: hidden from a sketch whose pieces were
    all treated alike."""
    update = np.zeros(3 * TABLE_FLOATS, np.float32)
    update[:TABLE_FLOATS] = rng.standard_normal(TABLE_FLOATS)
    update[TABLE_FLOATS : 2 * TABLE_FLOATS] = -update[:TABLE_FLOATS]
    sketcher = Sketcher(b"secret")
    for piece in update.reshape(3, -1):
        sketcher.add(piece)
    found = np.linalg.norm(sketcher.finish())
    assert found == pytest.approx(np.linalg.norm(update), rel=0.1)
