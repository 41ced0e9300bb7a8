"""Distances between two updates, against plain numpy."""

import numpy as np
import pytest

from coordination.aggregation.compare import Distance, compare
from coordination.aggregation.vectors import SLICE_FLOATS, VectorFile

COUNT = 2 * SLICE_FLOATS + 17


@pytest.fixture
def stored(tmp_path):
    def write(values: np.ndarray) -> VectorFile:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.f32"
        path.write_bytes(values.astype("<f4").tobytes())
        return VectorFile(path, 0, len(values))

    return write


def _draw(seed: int, scale: float = 1.0) -> np.ndarray:
    return (scale * np.random.default_rng(seed).standard_normal(COUNT)).astype("<f4")


def test_it_is_what_numpy_says(stored):
    start, a, b = _draw(1), _draw(2), _draw(3, 0.5)
    found = compare(stored(start), stored(a), stored(b))
    x, y = a.astype(float) - start, b.astype(float) - start
    assert found.relative == pytest.approx(np.linalg.norm(y - x) / np.linalg.norm(x), rel=1e-9)
    cosine = x @ y / (np.linalg.norm(x) * np.linalg.norm(y))
    assert found.cosine == pytest.approx(cosine, rel=1e-9)


def test_the_same_bytes_are_no_distance_apart(stored):
    start, a = stored(_draw(1)), stored(_draw(2))
    found = compare(start, a, a)
    assert (found.relative, found.cosine) == (0.0, pytest.approx(1.0))


def test_the_opposite_update_is_two_lengths_away(stored):
    start, update = _draw(1, 0.01), _draw(2)
    found = compare(stored(0 * start), stored(update), stored(-update))
    assert (found.relative, found.cosine) == (pytest.approx(2.0), pytest.approx(-1.0))


def test_an_update_of_zero_agrees_with_itself_alone(stored):
    start, moved = stored(_draw(1)), stored(_draw(2))
    assert compare(start, start, moved) == Distance(float("inf"), 0.0)
    assert compare(start, start, start) == Distance(0.0, 0.0)
    assert compare(start, moved, start) == Distance(1.0, 0.0)


def test_vectors_of_different_lengths_are_refused(stored):
    with pytest.raises(ValueError, match="differ"):
        compare(stored(_draw(1)), stored(_draw(2)), stored(_draw(3)[:-1]))
