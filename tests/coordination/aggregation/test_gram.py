"""The Gram matrix against a plain product in float64."""

from pathlib import Path

import numpy as np
import pytest

from coordination.aggregation import gram
from coordination.aggregation.gram import PART, gram_matrix
from tests.coordination.aggregation.files import vector_file


@pytest.mark.parametrize("columns", [1, 15, 16, PART, PART + 17, 300_001])
@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_is_the_product_of_the_updates(tmp_path: Path, n: int, columns: int) -> None:
    random = np.random.default_rng(n)
    start = random.standard_normal(columns, np.float32)
    rows = start + 0.01 * random.standard_normal((n, columns)).astype(np.float32)
    files = [vector_file(tmp_path / str(i), row) for i, row in enumerate([start, *rows])]
    updates = (rows - start).astype(np.float64)
    expected = updates @ updates.T
    norms = np.sqrt(np.diag(expected))
    found = gram_matrix(files[0], files[1:])
    assert np.array_equal(found, found.T)
    assert (np.abs(found - expected) <= 3e-7 * np.outer(norms, norms)).all()


def test_no_number_depends_on_how_many_rows_are_multiplied_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).standard_normal((8, 5000))
    files = [vector_file(tmp_path / str(i), row) for i, row in enumerate(rows)]
    found = []
    for wide in (False, True):
        monkeypatch.setattr(gram, "has_wide_registers", lambda wide=wide: wide)
        gram._products.cache_clear()
        found.append(gram_matrix(files[0], files[1:]))
    gram._products.cache_clear()
    assert np.array_equal(found[0], found[1])


def test_one_pass_after_the_other_gives_the_same_bits(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((9, 300_001))
    files = [vector_file(tmp_path / str(i), row) for i, row in enumerate(rows)]
    first = gram_matrix(files[0], files[1:])
    assert np.array_equal(first, gram_matrix(files[0], files[1:]))
