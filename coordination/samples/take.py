"""Have snapshots go on with their run's prompts, in a process of its own."""

import json
import logging
import re
import tempfile
from datetime import timedelta
from pathlib import Path

from django.db import IntegrityError, transaction

from coordination.child import ChildFailed, ask_worker_client, tokenizer_option
from coordination.clock import now
from coordination.models import SamplePrompts, Samples, Snapshot
from coordination.storage import blobs
from coordination.store.local import BlobMissing
from worker_client.contract.formats import ScratchFormat

log = logging.getLogger(__name__)

TOKENS = 64
MAX_CHARACTERS = 1000
PATIENCE_S = 900.0
# A claim that is older was made by a process that is gone.
CLAIM_S = 2 * PATIENCE_S
# Not to be stored, or not to be shown: controls, and marks that turn the direction of a page.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufeff\ufffe\uffff]"
)


def take_due_samples() -> None:
    """Of each run that wants them, the newest snapshot's, unless they are there or failed."""
    for wanted in SamplePrompts.objects.select_related("run").order_by("pk"):
        kept = Snapshot.objects.filter(run=wanted.run, deleted_at=None)
        newest = kept.order_by("-number").first()
        if newest is not None and (claimed := _claim(newest)) is not None:
            _take(claimed, wanted)


def take_samples_again(snapshot: Snapshot, wanted: SamplePrompts) -> Samples:
    """As an operator asks for them now, whatever is there."""
    with transaction.atomic():
        Samples.objects.filter(snapshot=snapshot).delete()
        samples = Samples.objects.create(snapshot=snapshot, claimed_at=now())
    return _take(samples, wanted)


def _claim(snapshot: Snapshot) -> Samples | None:
    """A row for its samples; None: there is one already."""
    lost = now() - timedelta(seconds=CLAIM_S)
    old = Samples.objects.filter(
        snapshot=snapshot, texts__isnull=True, error="", claimed_at__lt=lost
    )
    try:
        with transaction.atomic():
            old.delete()
            return Samples.objects.create(snapshot=snapshot, claimed_at=now())
    except IntegrityError:
        return None


def _take(samples: Samples, wanted: SamplePrompts) -> Samples:
    """Ask the snapshot and keep what it writes, or why it could not."""
    try:
        written = _ask(samples.snapshot, wanted)
    except (BlobMissing, ChildFailed) as failed:
        log.warning("no samples of %s: %s", samples.snapshot, failed)
        samples.error = _UNFIT.sub("", str(failed))[:300]
    else:
        samples.texts = [
            {"language": prompt["language"], "prompt": prompt["text"], "text": _fit(text)}
            for prompt, text in zip(wanted.prompts, written, strict=True)
        ]
    # It may have been deleted meanwhile, and then stays so.
    Samples.objects.filter(pk=samples.pk).update(texts=samples.texts, error=samples.error)
    return samples


def _ask(snapshot: Snapshot, wanted: SamplePrompts) -> list[str]:
    run = wanted.run
    has_base = not isinstance(run.manifest, ScratchFormat)
    tokenizer = None if has_base else blobs().path(run.tokenizer or "")
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.jsonl"
        prompts.write_text("\n".join(map(json.dumps, wanted.prompts)), "utf-8")
        answer = ask_worker_client(
            *("sample", run.format, "--snapshot", str(blobs().path(snapshot.sha256))),
            *("--prompts", str(prompts), "--mode", run.mode, "--tokens", str(TOKENS)),
            *("--device", "cpu", "--threads", "1", "--json", *tokenizer_option(tokenizer)),
            timeout_s=PATIENCE_S,
        )
    return answer["texts"]


def _fit(text: str) -> str:
    """Bounded; the last character may be one of which half was written."""
    return _UNFIT.sub("", text).rstrip("\ufffd")[:MAX_CHARACTERS]
