"""A run's files as a lease names them."""

from coordination.models import DataShard, Run, Snapshot
from worker_client.contract.wire import FileRef


def file_ref(run: Run, path: str, sha256: str, size: int) -> FileRef:
    return FileRef(path=path, sha256=sha256, size=size, chunk_bytes=run.chunk_bytes)


def snapshot_ref(run: Run, snapshot: Snapshot) -> FileRef:
    return file_ref(run, f"/adaptor?tur={snapshot.number}", snapshot.sha256, snapshot.size)


def shard_ref(run: Run, shard: DataShard) -> FileRef:
    return file_ref(run, f"/veri?parca={shard.index}", shard.sha256, shard.size)
