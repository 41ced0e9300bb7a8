"""Publish a merge as a compressed update: what is published is what the update leads to."""

from contextlib import ExitStack
from dataclasses import dataclass

from coordination.aggregation.downlink import compress_update
from coordination.aggregation.vectors import VectorFile
from coordination.models import OuterState, Run, Snapshot
from coordination.storage import blobs, raw_vector, snapshot_vector
from coordination.store.local import Blob
from worker_client.contract.encodings import CODECS, encoded_bytes
from worker_client.contract.encodings.delta import delta_header

RESIDUAL = "downlink"  # among the vectors of a snapshot's state


@dataclass(frozen=True)
class Compressed:
    """The snapshot's file, its update, and what that left out."""

    snapshot: Blob
    delta: Blob
    residual: Blob


def compress_snapshot(run: Run, start: Snapshot, header: bytes, target: VectorFile) -> Compressed:
    """Write the update from ``start`` towards ``target`` and the snapshot it leads to, which
    begins with ``header``."""
    codec, residual = CODECS[run.downlink], _residual(start)
    with ExitStack() as stack:
        weights, delta, left = (stack.enter_context(blobs().new_file()) for _ in range(3))
        weights.write(header)
        metadata = {"bicim": run.format, "tur": str(start.number + 1)}
        delta.write(delta_header(codec, encoded_bytes(codec, target.count), metadata))
        for data in compress_update(
            snapshot_vector(start), target, residual, codec, weights.write, left.write
        ):
            delta.write(data.data)
        return Compressed(weights.seal(), delta.seal(), left.seal())


def _residual(start: Snapshot) -> VectorFile | None:
    kept = OuterState.objects.filter(snapshot=start, name=RESIDUAL).first()
    return raw_vector(kept.sha256) if kept else None
