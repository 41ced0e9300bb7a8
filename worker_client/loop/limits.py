"""What this worker agrees to do: formats it has, the recipe it knows, and the person's caps."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from worker_client.contract import wire
from worker_client.contract.encodings import CODECS
from worker_client.contract.formats import Format, UnknownFormat, load_format
from worker_client.contract.recipe import CLEANINGS, MOST_TOKENS_PER_BYTE, RECIPES
from worker_client.version import VERSION, is_older

ENCODINGS = (wire.RAW_ENCODING, *CODECS)
CANDIDATE_ENCODINGS = (*ENCODINGS, wire.VECTOR_ENCODING)
# What this worker does when asked to; a coordinator may ask for more, and is refused.
ALL_JOBS = (wire.Job.TRAIN, wire.Job.VERIFY, wire.Job.EVALUATE, wire.Job.PREPROCESS)
# What it does unless told otherwise: other people's text comes here only if its person says so.
JOBS = ALL_JOBS[:3]
SNAPSHOT_HEADER_BYTES = 2**20
DISK_RESERVE_BYTES = 256 * 2**20


class TaskRefused(Exception):
    """This worker does not do what the coordinator asks; the message says what and why."""


class DiskShort(Exception):
    """Not enough free space for the task; the message says how much is missing."""


@dataclass(frozen=True)
class Limits:
    """The person's own caps: a coordinator may be hostile, or just large.

    ``hours`` of training for one task, ``disk_bytes`` in the state folder,
    ``transfer_bytes`` up and down for one task, and which ``jobs`` to do at all.
    """

    hours: float = 24.0
    disk_bytes: int = 20 * 10**9
    transfer_bytes: int = 4 * 10**9
    jobs: tuple[wire.Job, ...] = JOBS


def check_about(about: wire.About, jobs: Sequence[wire.Job] = JOBS) -> Format:
    """The format a coordinator works on.

    Raises:
        TaskRefused: this worker is too old for it, or does not do what it asks.
    """
    if is_older(VERSION, about.min_worker_version):
        raise TaskRefused(
            f"this run wants worker {about.min_worker_version} or newer and this is {VERSION}; "
            "update with git pull, then start again"
        )
    if not set(jobs) & set(about.jobs):
        raise TaskRefused(
            f"this run gives away {_named(about.jobs)} and this worker does {_named(jobs)}; "
            "choose others with --jobs"
        )
    if not set(ENCODINGS) & set(about.encodings):
        raise TaskRefused(
            f"this run takes results as {', '.join(about.encodings)}; this worker makes "
            f"{', '.join(ENCODINGS)}"
        )
    fmt = _known(about.format, about.recipe, about.base_model)
    _check_tokenizer(fmt, about.tokenizer_sha256)
    return fmt


def check_task(task: wire.Task, limits: Limits, own_data: Path | None) -> Format:
    """The format to train in, if the task may be trained here.

    Raises:
        TaskRefused: unknown job, encoding, format, recipe or base model, or above a cap.
    """
    if task.job not in limits.jobs:
        raise TaskRefused(
            f"the coordinator asks for {task.job.value}; this worker does {_named(limits.jobs)}"
        )
    training = task.training
    if training.encoding not in ENCODINGS:
        raise TaskRefused(
            f"the coordinator wants results as {training.encoding}; this worker makes "
            f"{', '.join(ENCODINGS)}"
        )
    fmt = _known(training.format, training.recipe, training.base_model)
    _check_tokenizer(fmt, training.tokenizer_sha256)
    if task.job == wire.Job.PREPROCESS:
        _check_text(task)
        _check_transfer(task, fmt, limits)
        return fmt
    _check_sizes(task, fmt, limits)
    if task.job == wire.Job.EVALUATE:
        _check_candidates(task, fmt)
        return fmt
    if task.job == wire.Job.VERIFY and training.data is None:
        raise TaskRefused("a check needs the data that the result was trained on, and got none")
    if training.data is None and own_data is None:
        raise TaskRefused("this run sends no data; start again with your own: --data FILE")
    return fmt


def check_disk(task: wire.Task, fmt: Format, folder: Path, used: int, limits: Limits) -> None:
    """Whether a task's files fit, with ``used`` bytes of the cap taken already.

    Raises:
        DiskShort: over the cap or the disk's free space.
    """
    needed = _files_bytes(task) + _result_bytes(task, fmt)
    free = shutil.disk_usage(folder).free - DISK_RESERVE_BYTES
    if needed > free:
        raise DiskShort(
            f"this task needs {needed} bytes in {folder} and {max(0, free)} are free (beyond a "
            "reserve); free some space or choose another --state-dir"
        )
    if used + needed > limits.disk_bytes:
        raise DiskShort(
            f"this task needs {needed} bytes, {used} are used, and your cap is "
            f"{limits.disk_bytes}; raise --max-disk if that is fine with you"
        )


def _known(format_id: str, recipe: str, base_model: str | None) -> Format:
    try:
        fmt = load_format(format_id)
    except UnknownFormat as error:
        raise TaskRefused(f"{error}; a newer worker may know it: git pull") from None
    if recipe not in RECIPES:
        raise TaskRefused(f"unknown recipe {recipe!r}; known: {', '.join(RECIPES)}")
    if base_model is not None and base_model != fmt.base_ref:
        raise TaskRefused(
            f"the run's base model is {base_model}, format {format_id} belongs to "
            f"{fmt.base_ref or 'none: it starts from nothing'}"
        )
    return fmt


def _check_tokenizer(fmt: Format, wanted: str | None) -> None:
    if wanted and fmt.tokenizer_sha256 and wanted != fmt.tokenizer_sha256:
        raise TaskRefused(f"this run uses another tokenizer than {fmt.base_ref}")


def _named(jobs: Sequence[str]) -> str:
    return ", ".join(map(str, jobs)) or "nothing"


def files_of(task: wire.Task) -> list[wire.FileRef]:
    """What has to be fetched for a task, each file once."""
    refs = [task.training.snapshot_file, task.training.data, task.raw_text, task.tokenizer]
    for candidate in task.candidates or ():
        refs += [candidate.snapshot, candidate.result, candidate.data]
    return list({ref.sha256: ref for ref in refs if ref}.values())


def _files_bytes(task: wire.Task) -> int:
    return sum(ref.size for ref in files_of(task))


def _result_bytes(task: wire.Task, fmt: Format) -> int:
    """The most that the result's file can have."""
    if task.raw_text is not None:
        return 4 * MOST_TOKENS_PER_BYTE * task.raw_text.size + SNAPSHOT_HEADER_BYTES
    return fmt.data_bytes + SNAPSHOT_HEADER_BYTES


def _check_text(task: wire.Task) -> None:
    assert task.raw_text and task.tokenizer, "a task without is refused when it is parsed"
    if task.cleaning not in CLEANINGS:
        raise TaskRefused(
            f"unknown rules of cleaning {task.cleaning!r}; known: {', '.join(CLEANINGS)}; a newer "
            "worker may know them: git pull"
        )
    most = {"text": wire.MAX_RAW_BYTES, "a tokenizer": wire.MAX_TOKENIZER_BYTES}
    for (what, limit), ref in zip(most.items(), (task.raw_text, task.tokenizer), strict=True):
        if ref.size > limit:
            raise TaskRefused(
                f"the coordinator sends {what} of {ref.size} bytes; this worker takes {limit}"
            )
    if task.tokenizer.sha256 != task.tokenizer_sha256:
        raise TaskRefused("the tokenizer that this task sends is not the run's")


def _check_candidates(task: wire.Task, fmt: Format) -> None:
    if task.data is None:
        raise TaskRefused("an evaluation needs data, and got none")
    for candidate in task.candidates or ():
        if candidate.encoding not in CANDIDATE_ENCODINGS:
            raise TaskRefused(
                f"the coordinator has a candidate as {candidate.encoding}; this worker reads "
                f"{', '.join(CANDIDATE_ENCODINGS)}"
            )
        _check_weights(candidate.snapshot, fmt)
        if candidate.result and candidate.result.size > fmt.data_bytes + SNAPSHOT_HEADER_BYTES:
            raise TaskRefused(f"a candidate of {candidate.result.size} bytes cannot be {fmt.id}")


def _check_weights(snapshot: wire.FileRef, fmt: Format) -> None:
    extra = snapshot.size - fmt.data_bytes
    if not 0 < extra <= SNAPSHOT_HEADER_BYTES:
        raise TaskRefused(
            f"a snapshot of {snapshot.size} bytes cannot be {fmt.id}, whose weights are "
            f"{fmt.data_bytes} bytes"
        )


def _check_sizes(task: wire.Task, fmt: Format, limits: Limits) -> None:
    _check_weights(task.training.snapshot, fmt)
    _check_transfer(task, fmt, limits)


def _check_transfer(task: wire.Task, fmt: Format, limits: Limits) -> None:
    transfer = _files_bytes(task) + _result_bytes(task, fmt)
    if transfer > limits.transfer_bytes:
        raise TaskRefused(
            f"this task would move {transfer} bytes and your cap is {limits.transfer_bytes}; "
            "raise --max-transfer if that is fine with you"
        )
