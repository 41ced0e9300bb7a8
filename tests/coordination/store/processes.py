"""What the store's tests run in processes of their own: ``python -m ... VERB ROOT``."""

import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path

from coordination.store.local import BlobStore

CONTENT = b"the same bytes again and again"
PUTS = 200


def put_always_finds_its_blob(store: BlobStore) -> None:
    """Age the blob, so that it may be collected at any instant, and put it again."""
    for _ in range(PUTS):
        with store.new_file() as writer:
            writer.write(CONTENT)
            sha256 = writer.seal().sha256
        if not store.has(sha256):
            sys.exit("a blob just put was collected")
        try:
            os.utime(store.path(sha256), (0, 0))
        except FileNotFoundError:
            sys.exit("a young blob was collected")


def collect_until_told(store: BlobStore) -> None:
    print("ready", flush=True)
    removed = 0
    while not (store.root / "enough").exists():
        removed += len(store.collect(lambda sha256: False))
    print(removed)


def put_half(store: BlobStore) -> None:
    with store.new_file() as writer:
        writer.write(bytes(1 << 20))
        print("half", flush=True)
        time.sleep(600)


def put_for_ever(store: BlobStore) -> None:
    while True:
        with store.new_file() as writer:
            writer.write(secrets.token_bytes(200_000))
            print(writer.seal().sha256, flush=True)


VERBS: dict[str, Callable[[BlobStore], None]] = {
    verb.__name__: verb
    for verb in (put_always_finds_its_blob, collect_until_told, put_half, put_for_ever)
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](BlobStore(Path(sys.argv[2])))
