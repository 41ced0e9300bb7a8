"""What snapshots are asked is checked when it is said."""

import json

import pytest
from django.core.exceptions import ValidationError

from coordination.clock import now
from coordination.models import SamplePrompts, Samples, Snapshot
from coordination.rounds.retain import collect_blobs
from coordination.samples.prompts import set_prompts, stop_samples
from coordination.storage import blobs
from tests.coordination.samples.conftest import LINES


def test_prompts_are_kept_in_their_order(run):
    set_prompts(run, LINES)
    (wanted,) = SamplePrompts.objects.all()
    assert [row["language"] for row in wanted.prompts] == ["tr", "en"]
    assert wanted.prompts[0]["text"] == "Bir gün"


def test_new_prompts_replace_the_old_and_what_was_written(run):
    set_prompts(run, LINES)
    Samples.objects.create(snapshot=Snapshot.objects.get(), claimed_at=now(), texts=[])
    set_prompts(run, LINES.splitlines()[0])
    assert len(SamplePrompts.objects.get().prompts) == 1
    assert not Samples.objects.exists()
    stop_samples(run)
    assert not SamplePrompts.objects.exists()


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("", "1 to 8 prompts, not 0"),
        (LINES.splitlines()[0] * 1 + "\n" + "\n".join([LINES.splitlines()[0]] * 8), "not 9"),
        ("Bir gün", "line 1 is not like"),
        ('{"text": "a"}', "line 1 is not like"),
        ('{"language": "tr", "text": "a", "more": 1}', "line 1 is not like"),
        ('\n{"language": "tr\\" onclick=", "text": "a"}', "line 2: the language"),
        ('{"language": 1, "text": "a"}', "the language"),
        ('{"language": "tr", "text": " "}', "empty"),
        ('{"language": "tr", "text": "a\\u0000"}', "control characters"),
        ('{"language": "tr", "text": "\\ud800"}', "control characters"),
        (json.dumps({"language": "tr", "text": "a" * 301}), "longer than 300"),
    ],
)
def test_what_cannot_be_asked_is_told(run, lines, why):
    with pytest.raises(ValidationError, match=why):
        set_prompts(run, lines)
    assert not SamplePrompts.objects.exists()


def test_a_model_from_scratch_needs_its_tokenizer(scratch, tokenizer, tmp_path):
    with pytest.raises(ValidationError, match="--tokenizer"):
        set_prompts(scratch, LINES)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValidationError, match="is not the tokenizer"):
        set_prompts(scratch, LINES, tmp_path / "other.json")
    set_prompts(scratch, LINES, tokenizer)
    collect_blobs(older_than_s=-1)
    assert blobs().path(scratch.tokenizer).read_bytes() == tokenizer.read_bytes()
    set_prompts(scratch, LINES)  # it is known by now
    stop_samples(scratch)
    collect_blobs(older_than_s=-1)
    assert not blobs().has(scratch.tokenizer)
