"""Create a run: its settings, first snapshot, data and first round, all or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction

from coordination.aggregation.rules import RULES, SharesRule
from coordination.clock import now
from coordination.models import SHA256_LENGTH, DataShard, HeldOut, Run, Snapshot
from coordination.preparing.store import RawText, StoredText, save_text, store_text
from coordination.rounds.evaluate import ask_for_evaluation
from coordination.rounds.open import begin_round, open_round
from coordination.storage import blobs
from coordination.store.local import Blob
from worker_client.contract.errors import Refused
from worker_client.contract.formats import Format, UnknownFormat, load_format
from worker_client.contract.recipe import RECIPES
from worker_client.contract.tensors import Header, read_header
from worker_client.contract.wire import MAX_TOKENS_PER_TASK

COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class StoredShard:
    """``tokens`` are those that are predicted, ``bytes`` their UTF-8 bytes, as the file says."""

    blob: Blob
    rows: int
    tokens: int
    bytes: int


def create_run(
    run: Run,
    first_snapshot: Path,
    shards: list[Path],
    *,
    held_out: Mapping[str, Path] | None = None,
    raw: RawText | None = None,
    start: bool = True,
) -> Run:
    """Save ``run`` with its files and open round 1; ``start`` False leaves it ready.

    With ``raw`` it is ready until volunteers have made its shards of that text.

    Args:
        run: unsaved, fully described.
        first_snapshot: safetensors file in manifest order.
        shards: one safetensors file per shard, or empty when workers bring their own data.
        held_out: by language, a shard of text that nobody trains on.

    Raises:
        ValidationError: names the field and the remedy.
    """
    run.serves_data = bool(shards or raw)
    validate(run)
    if shards and len(shards) != run.shards:
        raise ValidationError(f"the run has {run.shards} shards but {len(shards)} files were given")
    snapshot_blob, data_start = store_snapshot(run.manifest, first_snapshot)
    text = store_text(run, raw) if raw else None
    stored = [store_shard(run, path) for path in shards]
    measures = [_held_out(run, language, path) for language, path in (held_out or {}).items()]
    digests = [shard.blob.sha256 for shard in stored] + [it.sha256 for it in measures]
    digests += text.digests if text else []
    with blobs().kept(snapshot_blob.sha256, *digests):
        return _save(run, snapshot_blob, data_start, stored, measures, text, start)


@transaction.atomic
def _save(
    run: Run,
    blob: Blob,
    data_start: int,
    shards: list[StoredShard],
    held_out: list[HeldOut],
    text: StoredText | None,
    start: bool,
) -> Run:
    run.state = Run.State.OPEN if start and text is None else Run.State.READY
    run.save()
    snapshot = Snapshot.objects.create(
        run=run,
        number=1,
        sha256=blob.sha256,
        size=blob.size,
        data_start=data_start,
    )
    DataShard.objects.bulk_create(data_shards(run, shards))
    HeldOut.objects.bulk_create(held_out)
    opened = begin_round(run, 1, now()) if text else open_round(run, 1, now())
    if text:
        save_text(run, opened, text)
    ask_for_evaluation(snapshot, opened)
    return run


def data_shards(run: Run, shards: list[StoredShard]) -> list[DataShard]:
    """Unsaved rows of the run's shards."""
    return [
        DataShard(
            run=run,
            index=i,
            sha256=shard.blob.sha256,
            size=shard.blob.size,
            rows=shard.rows,
        )
        for i, shard in enumerate(shards)
    ]


def validate(run: Run) -> None:
    """Raises ValidationError when fields are out of range or contradict each other."""
    try:
        load_format(run.format)
    except UnknownFormat as error:
        raise ValidationError({"format": str(error)}) from None
    if run.recipe not in RECIPES:
        raise ValidationError({"recipe": f"unknown recipe; known: {', '.join(RECIPES)}"})
    run.full_clean()
    rules = {
        "units_per_round": (
            run.units_per_round <= run.shards,
            "at most one unit per shard",
        ),
        "target_results": (
            run.target_results <= run.units_per_round,
            "at most one per unit",
        ),
        "min_results": (run.min_results <= run.target_results, "at most the target"),
        "exact_lora": (
            not run.exact_lora or isinstance(RULES.get(run.rule), SharesRule),
            f"{run.get_rule_display()} works weight by weight and cannot average products",
        ),
        "quorum": (
            run.quorum is None or run.min_results <= run.quorum <= run.target_results,
            "between the minimum and the target",
        ),
        "inner_steps": (
            run.batch_size * run.seq_len * run.inner_steps <= MAX_TOKENS_PER_TASK,
            "batch size * sequence length * inner steps is above 2^32",
        ),
    }
    faults = {field: message for field, (holds, message) in rules.items() if not holds}
    if faults:
        raise ValidationError(faults)


def store_snapshot(fmt: Format, path: Path) -> tuple[Blob, int]:
    """Put a snapshot file in the store; returns its blob and where its data begins."""
    header = _header(path)
    entries = sorted(header.tensors.values(), key=lambda entry: entry.start)
    found = [(entry.name, entry.dtype, entry.shape) for entry in entries]
    if found != [(spec.name, "F32", spec.shape) for spec in fmt.tensors]:
        raise ValidationError(f"{path.name} does not hold the tensors of {fmt.id} in their order")
    return _store(path), header.data_start


def store_shard(run: Run, path: Path) -> StoredShard:
    """Put a data shard in the store after checking that the run's workers will take it."""
    header = _header(path)
    names = {"input_ids", "labels"} if run.mode == Run.Mode.SFT else {"input_ids"}
    shapes = {entry.shape for entry in header.tensors.values()}
    dtypes = {entry.dtype for entry in header.tensors.values()}
    if set(header.tensors) != names or len(shapes) != 1 or dtypes != {"I32"}:
        raise ValidationError(f"{path.name}: a {run.mode} shard holds int32 {' and '.join(names)}")
    rows, seq_len = (*shapes.pop(), 0, 0)[:2]
    if seq_len != run.seq_len or rows < 1:
        raise ValidationError(f"{path.name}: rows of {seq_len} tokens; the run has {run.seq_len}")
    if not run.tokenizer:  # the first shard of a model from scratch says which it is
        run.tokenizer_sha256 = header.metadata.get("belirtec_sha256", "")[:SHA256_LENGTH]
    if header.metadata.get("belirtec_sha256") != run.tokenizer:
        raise ValidationError(
            f"{path.name} was not made with the tokenizer of {run.manifest.model_name}"
        )
    told = (header.metadata.get(name, "") for name in ("token", "bayt"))
    tokens, size = (int(text) if text.isascii() and text.isdigit() else 0 for text in told)
    return StoredShard(_store(path), rows, tokens, size)


def _held_out(run: Run, language: str, path: Path) -> HeldOut:
    """An unsaved row of a shard that says how much it has to predict."""
    shard = store_shard(run, path)
    if not 0 < shard.tokens <= shard.rows * (run.seq_len - 1) or shard.bytes < 1:
        raise ValidationError(
            f"{path.name} does not say how many tokens and bytes it has; make it with shard_text"
        )
    held_out = HeldOut(
        run=run,
        language=language,
        sha256=shard.blob.sha256,
        size=shard.blob.size,
        rows=shard.rows,
        tokens=shard.tokens,
        bytes=shard.bytes,
    )
    held_out.clean_fields(exclude=["run"])
    return held_out


def _header(path: Path) -> Header:
    try:
        with open(path, "rb") as file:
            return read_header(file, path.stat().st_size)
    except Refused as refused:
        raise ValidationError(f"{path.name}: {refused.detail}") from None


def _store(path: Path) -> Blob:
    with open(path, "rb") as source, blobs().new_file() as writer:
        while piece := source.read(COPY_BYTES):
            writer.write(piece)
        return writer.seal()
