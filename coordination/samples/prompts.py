"""Say what a run's snapshots are to go on with, or that they need not."""

import json
import re
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction

from coordination.models import Run, SamplePrompts, Samples
from coordination.storage import blobs
from worker_client.contract.formats import ScratchFormat

MAX_PROMPTS = 8
MAX_CHARACTERS = 300
_LANGUAGE = re.compile(r"[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8}){0,3}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def set_prompts(run: Run, lines: str, tokenizer: Path | None = None) -> list[dict]:
    """Have each new snapshot of the run go on with the prompts; what was written before goes.

    Args:
        lines: one JSON object with ``language`` and ``text`` a line.
        tokenizer: the run's, which a model from scratch needs; it is kept.

    Raises:
        ValidationError: says what to do.
    """
    numbered = enumerate(lines.splitlines(), 1)
    prompts = [_prompt(number, line) for number, line in numbered if line.strip()]
    if not 1 <= len(prompts) <= MAX_PROMPTS:
        raise ValidationError(f"give 1 to {MAX_PROMPTS} prompts, not {len(prompts)}")
    needed = _tokenizer(run, tokenizer) if isinstance(run.manifest, ScratchFormat) else []
    with blobs().kept(*needed), transaction.atomic():
        stop_samples(run)
        SamplePrompts.objects.create(run=run, prompts=prompts)
    return prompts


@transaction.atomic
def stop_samples(run: Run) -> None:
    """Take and show no more samples of the run."""
    SamplePrompts.objects.filter(run=run).delete()
    Samples.objects.filter(snapshot__run=run).delete()


def _prompt(number: int, line: str) -> dict:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or set(row) != {"language", "text"}:
        raise ValidationError(f'line {number} is not like {{"language": "tr", "text": "Bir gün"}}')
    language, text = row["language"], row["text"]
    if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
        raise ValidationError(f"line {number}: the language is no tag such as tr or pt-BR")
    if not isinstance(text, str) or not text.strip() or _CONTROL.search(text):
        raise ValidationError(f"line {number}: the text is empty or has control characters")
    if len(text) > MAX_CHARACTERS:
        raise ValidationError(f"line {number}: the text is longer than {MAX_CHARACTERS} characters")
    return {"language": language, "text": text}


def _tokenizer(run: Run, path: Path | None) -> list[str]:
    """The digest of the run's tokenizer, which is then in the store."""
    if path is None:
        if run.tokenizer and blobs().has(run.tokenizer):
            return [run.tokenizer]
        raise ValidationError(f"{run.format} needs the run's tokenizer: --tokenizer tokenizer.json")
    with blobs().new_file() as writer:
        writer.write(path.read_bytes())
        blob = writer.seal()
    if blob.sha256 != run.tokenizer:
        raise ValidationError(f"{path} is not the tokenizer that the run's data was made with")
    return [blob.sha256]
