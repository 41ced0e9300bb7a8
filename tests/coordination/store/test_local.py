import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from coordination.store.local import BadDigest, Blob, BlobMissing, BlobStore

ABSENT = "0" * 64
OLD = time.time() - 2 * 86_400
YOUNG = time.time() - 3_600


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def put(store: BlobStore, content: bytes, mtime: float | None = None) -> str:
    with store.new_file() as writer:
        writer.write(content)
        sha256 = writer.seal().sha256
    if mtime is not None:
        os.utime(store.path(sha256), (mtime, mtime))
    return sha256


def temporary_files(store: BlobStore) -> list[Path]:
    return list((store.root / "tmp").iterdir())


def test_gives_back_what_was_written(store: BlobStore) -> None:
    with store.new_file() as writer:
        assert writer.write(b"hello ") == 6
        writer.write(memoryview(b"world"))
        blob = writer.seal()
    assert blob == Blob(hashlib.sha256(b"hello world").hexdigest(), 11)
    assert store.has(blob.sha256)
    assert store.size(blob.sha256) == 11
    assert store.path(blob.sha256).read_bytes() == b"hello world"
    with store.open(blob.sha256) as file:
        assert file.read() == b"hello world"


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [(0, 5, b"hello"), (6, 11, b"world"), (6, 99, b"world"), (11, 12, b""), (3, 3, b"")],
)
def test_reads_a_range(store: BlobStore, start: int, stop: int, expected: bytes) -> None:
    assert store.read_range(put(store, b"hello world"), start, stop) == expected


@pytest.mark.parametrize(("start", "stop"), [(-1, 4), (4, 3)])
def test_a_senseless_range_is_an_error(store: BlobStore, start: int, stop: int) -> None:
    with pytest.raises(ValueError, match="no range of bytes"):
        store.read_range(put(store, b"hello world"), start, stop)


def test_an_empty_blob_is_a_blob(store: BlobStore) -> None:
    assert store.size(put(store, b"")) == 0


def test_nothing_is_visible_before_the_seal(store: BlobStore) -> None:
    digest = hashlib.sha256(b"content").hexdigest()
    with store.new_file() as writer:
        writer.write(b"content")
        writer.file.flush()
        assert not store.has(digest)
        writer.seal()
        assert store.has(digest)


def test_leaving_without_a_seal_keeps_nothing(store: BlobStore) -> None:
    with store.new_file() as writer:
        writer.write(b"not wanted")
    with pytest.raises(RuntimeError), store.new_file() as writer:
        writer.write(b"failed")
        raise RuntimeError
    assert temporary_files(store) == []
    assert store.collect(lambda sha256: False, older_than_s=-1) == []


def test_putting_again_renews_the_time(store: BlobStore) -> None:
    sha256 = put(store, b"content", mtime=OLD)
    assert put(store, b"content") == sha256
    assert store.path(sha256).stat().st_mtime > YOUNG


def test_a_slow_write_counts_from_its_seal(store: BlobStore) -> None:
    with store.new_file() as writer:
        writer.write(b"content")
        writer.file.flush()
        os.utime(writer.path, (OLD, OLD))
        sha256 = writer.seal().sha256
    assert store.collect(lambda sha256: False) == []
    assert store.has(sha256)


def test_putting_again_heals_a_damaged_blob(store: BlobStore) -> None:
    sha256 = put(store, b"content")
    store.path(sha256).write_bytes(b"cont")
    put(store, b"content")
    assert store.path(sha256).read_bytes() == b"content"


def test_what_is_absent_is_missing(store: BlobStore) -> None:
    assert not store.has(ABSENT)
    for access in (store.path, store.size, store.open, lambda s: store.read_range(s, 0, 1)):
        with pytest.raises(BlobMissing, match=ABSENT):
            access(ABSENT)


@pytest.mark.parametrize(
    "digest",
    [
        "",
        "..",
        "../../etc/passwd",
        "ab/../../secret",
        "A" * 64,
        "a" * 63,
        "a" * 65,
        "a" * 64 + "\n",
        "g" * 64,
        "/" + "a" * 63,
        "٠" * 64,
        "tmp",
    ],
)
def test_a_digest_is_64_hex_digits_and_no_way_out(store: BlobStore, digest: str) -> None:
    (store.root.parent / "secret").write_text("secret")
    for access in (store.has, store.path, store.size, store.open):
        with pytest.raises(BadDigest, match="not a SHA-256"):
            access(digest)


def test_collects_what_is_unnamed_and_old(store: BlobStore) -> None:
    named, old = put(store, b"named", mtime=OLD), put(store, b"old", mtime=OLD)
    young = put(store, b"young", mtime=YOUNG)
    assert store.collect({named}.__contains__) == [old]
    assert (store.has(named), store.has(old), store.has(young)) == (True, False, True)
    assert store.collect({named}.__contains__, older_than_s=60) == [young]


def test_collects_stale_temporary_files_only(store: BlobStore) -> None:
    with store.new_file() as lasting, store.new_file() as stale:
        os.utime(stale.path, (OLD, OLD))
        store.collect(lambda sha256: False)
        assert temporary_files(store) == [lasting.path]


def test_leaves_what_is_not_its_own_alone(store: BlobStore) -> None:
    foreign = store.root / "ab" / "notes"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    os.utime(foreign, (OLD, OLD))
    assert store.collect(lambda sha256: False) == []
    assert foreign.exists()


def test_a_row_written_meanwhile_saves_its_blob(store: BlobStore) -> None:
    sha256 = put(store, b"content", mtime=OLD)
    answers = iter([False, True])
    assert store.collect(lambda sha256: next(answers)) == []
    assert store.has(sha256)


def test_a_put_meanwhile_saves_the_blob(store: BlobStore) -> None:
    def named_after_a_put(sha256: str) -> bool:
        put(store, b"content")
        return False

    sha256 = put(store, b"content", mtime=OLD)
    assert store.collect(named_after_a_put) == []
    assert store.has(sha256)


def test_a_put_waits_while_its_blob_is_being_collected(store: BlobStore) -> None:
    sha256 = put(store, b"content", mtime=OLD)
    thread = threading.Thread(target=put, args=(store, b"content"))
    asked = []

    def is_named(digest: str) -> bool:
        asked.append(digest)
        if len(asked) == 2:  # the question under the lock
            thread.start()
            thread.join(0.3)
            assert thread.is_alive()
        return False

    assert store.collect(is_named) == [sha256]
    thread.join()
    assert store.has(sha256)


def test_a_blob_that_seems_old_is_kept_until_its_row_is_there(store: BlobStore) -> None:
    sha256, rows = put(store, b"content", mtime=OLD), set[str]()
    collector = threading.Thread(target=store.collect, args=(rows.__contains__,))
    with store.kept(sha256):
        collector.start()
        collector.join(0.3)
        assert collector.is_alive()
        rows.add(sha256)
    collector.join()
    assert store.has(sha256)


def test_no_row_may_name_a_blob_that_was_collected(store: BlobStore) -> None:
    sha256 = put(store, b"content", mtime=OLD)
    store.collect(lambda digest: False)
    with pytest.raises(BlobMissing), store.kept(sha256):
        raise AssertionError("the row would be committed")
