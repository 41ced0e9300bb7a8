"""A shard is checked whole before its first row is used."""

import numpy as np
import pytest

from tests.worker_client.materials import TINY, pattern_rows, write_shard
from worker_client.data.errors import DataError
from worker_client.data.shard import open_shard


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shard.safetensors"


def test_rows_come_as_asked_for(path):
    ids = pattern_rows(7, 16)
    shard = open_shard(write_shard(path, ids), TINY, 16, "cpt")
    got, labels = shard.batch([5, 0, 5])
    assert shard.rows == 7
    assert got.dtype == np.int64
    assert np.array_equal(got, ids[[5, 0, 5]])
    assert np.array_equal(labels, got)


def test_sft_rows_bring_their_labels(path):
    ids, labels = pattern_rows(3, 16), pattern_rows(3, 16)
    labels[:, :8] = -100
    got = open_shard(write_shard(path, ids, labels), TINY, 16, "sft").batch([2])[1]
    assert np.array_equal(got, labels[[2]])


def out_of_range(ids):
    ids[-1, -1] = 320


def negative(ids):
    ids[0, 0] = -1


@pytest.mark.parametrize("spoil", [out_of_range, negative])
def test_ids_outside_the_vocabulary_are_refused(path, spoil):
    ids = pattern_rows(5000, 8)
    spoil(ids)
    with pytest.raises(DataError, match="vocabulary of 320"):
        open_shard(write_shard(path, ids), TINY, 8, "cpt")


@pytest.mark.parametrize("value", [-1, -101, 320])
def test_labels_outside_the_vocabulary_are_refused(path, value):
    labels = pattern_rows(3, 16)
    labels[1, 1] = value
    with pytest.raises(DataError, match="labels outside"):
        open_shard(write_shard(path, pattern_rows(3, 16), labels), TINY, 16, "sft")


def test_another_width_is_refused(path):
    with pytest.raises(DataError, match="rows of 16 tokens where the task says 32"):
        open_shard(write_shard(path, pattern_rows(3, 16)), TINY, 32, "cpt")


def test_another_tokenizer_is_refused(path):
    write_shard(path, pattern_rows(3, 16), tokenizer="f" * 64)
    with pytest.raises(DataError, match="another tokenizer"):
        open_shard(path, TINY, 16, "cpt")


def test_no_rows_are_refused(path):
    with pytest.raises(DataError, match="no rows"):
        open_shard(write_shard(path, pattern_rows(0, 16)), TINY, 16, "cpt")


def test_sft_without_labels_is_refused(path):
    with pytest.raises(DataError, match="no tensor labels"):
        open_shard(write_shard(path, pattern_rows(3, 16)), TINY, 16, "sft")


def test_fewer_labels_than_rows_are_refused(path):
    with pytest.raises(DataError, match="as many labels"):
        open_shard(write_shard(path, pattern_rows(3, 16), pattern_rows(2, 16)), TINY, 16, "sft")


def test_another_dtype_is_refused(path):
    with pytest.raises(DataError, match="not I32"):
        open_shard(write_shard(path, pattern_rows(3, 16), dtype="F32"), TINY, 16, "cpt")


@pytest.mark.parametrize("body", [b"", b"<!doctype html>", b"\x80\x04\x95 pickle"])
def test_what_is_no_safetensors_file_is_refused(path, body):
    path.write_bytes(body)
    with pytest.raises(DataError, match="cannot be read"):
        open_shard(path, TINY, 16, "cpt")


def test_a_missing_file_is_refused(path):
    with pytest.raises(DataError, match="cannot be read"):
        open_shard(path, TINY, 16, "cpt")
