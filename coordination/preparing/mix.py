"""Make the run's shards of all chunks' rows and begin its first round."""

import shutil
from datetime import timedelta
from pathlib import Path

from django.db import transaction

from coordination.child import ask_worker_client
from coordination.clock import now
from coordination.models import DataShard, Preparation, Result, Round, Run, touch
from coordination.preparing.alone import workplace
from coordination.preparing.counts import rows_of_chunks
from coordination.preparing.forget import forget_text
from coordination.rounds.create import StoredShard, data_shards, store_shard
from coordination.rounds.open import add_units
from coordination.storage import blobs

PATIENCE_S = 6 * 3600.0


def finish_preparation(run: Run) -> bool:
    """True if this call made the shards. The same rows give the same bytes, whoever made them.

    Raises:
        ChildFailed: too few rows for the shards, or the disk is full.
        BlobMissing: rows are gone.
    """
    digests = rows_of_chunks(run)
    if digests is None:
        return False
    folder = workplace(run.pk)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        stored = [store_shard(run, path) for path in _mix(run, digests, folder)]
        with blobs().kept(*(shard.blob.sha256 for shard in stored)):
            done = _begin(run, digests, stored)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    forget_text(run)
    return done


def _mix(run: Run, digests: list[str], folder: Path) -> list[Path]:
    store, how = blobs(), Preparation.objects.get(run=run)
    (folder / "rows.txt").write_text("\n".join(str(store.path(it)) for it in digests), "utf-8")
    answer = ask_worker_client(
        *("chunks", "mix", run.format, "--seq", str(run.seq_len), "--shards", str(run.shards)),
        *("--tokenizer", str(store.path(how.tokenizer_sha256))),
        *("--list", str(folder / "rows.txt"), "--out", str(folder)),
        timeout_s=PATIENCE_S,
    )
    return [folder / name for name in answer["files"]]


@transaction.atomic
def _begin(run: Run, digests: list[str], stored: list[StoredShard]) -> bool:
    """Name the shards and begin round 1, if these are still the rows and nobody was faster.
    A run that was paused meanwhile stays so, and begins when it is resumed."""
    round_ = Round.objects.select_for_update().get(run=run, number=1)
    ours = Preparation.objects.filter(run=run, prepared_at=None)
    if rows_of_chunks(run) != digests or not ours.update(prepared_at=now()):
        return False
    DataShard.objects.bulk_create(data_shards(run, stored))
    Result.objects.filter(unit__chunk__run=run).update(vector_sha256="")
    add_units(run, round_)
    round_.opened_at = now()
    round_.deadline_at = round_.opened_at + timedelta(seconds=run.round_seconds)
    round_.save(update_fields=["opened_at", "deadline_at"])
    Run.objects.filter(pk=run.pk, state=Run.State.READY).update(state=Run.State.OPEN)
    touch(run.pk)
    return True
