"""Snapshots write, in a process of their own, and what they wrote is shown."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from coordination.clock import now
from coordination.models import SamplePrompts, Samples, Snapshot
from coordination.rounds.retain import retire_snapshots
from coordination.samples import take
from coordination.samples.prompts import set_prompts
from coordination.samples.take import CLAIM_S, take_due_samples
from coordination.storage import blobs
from tests.coordination.samples.conftest import LINES


@pytest.fixture
def wanted(scratch, tokenizer) -> SamplePrompts:
    set_prompts(scratch, LINES, tokenizer)
    return SamplePrompts.objects.get()


@pytest.fixture
def unreadable(wanted) -> Snapshot:
    """The newest snapshot, whose file is none."""
    with blobs().new_file() as writer:
        writer.write(b"no snapshot")
        blob = writer.seal()
    return Snapshot.objects.create(
        run=wanted.run, number=2, sha256=blob.sha256, size=blob.size, data_start=8
    )


def test_the_newest_snapshot_writes_once(wanted):
    take_due_samples()
    (samples,) = Samples.objects.all()
    assert (samples.error, samples.snapshot.number) == ("", 1)
    assert [row["prompt"] for row in samples.texts] == ["Bir gün", "<b>Once"]
    # The vocabulary's tokens are bytes, so that 64 of them are no more characters.
    assert all(len(row["text"]) <= take.TOKENS for row in samples.texts)
    claimed = samples.claimed_at
    take_due_samples()
    assert Samples.objects.get().claimed_at == claimed


def test_without_prompts_nothing_is_written(scratch):
    take_due_samples()
    assert not Samples.objects.exists()


def test_what_cannot_be_read_is_recorded_and_not_tried_again(wanted, unreadable, caplog):
    take_due_samples()
    samples = Samples.objects.get(snapshot=unreadable)
    assert samples.texts is None and "error:" in samples.error
    assert "no samples of scratch v2" in caplog.text
    claimed = samples.claimed_at
    take_due_samples()
    assert Samples.objects.get(snapshot=unreadable).claimed_at == claimed


def test_a_claim_is_respected_until_its_process_must_be_gone(wanted, unreadable):
    for age, tried in ((CLAIM_S - 60, False), (CLAIM_S + 1, True)):
        Samples.objects.all().delete()
        at = now() - timedelta(seconds=age)
        Samples.objects.create(snapshot=unreadable, claimed_at=at)
        take_due_samples()
        assert bool(Samples.objects.get(snapshot=unreadable).error) is tried


def test_a_child_that_takes_too_long_is_ended(wanted, monkeypatch):
    monkeypatch.setattr(take, "PATIENCE_S", 0.01)
    take_due_samples()
    assert "no answer within" in Samples.objects.get().error


def test_written_text_is_made_fit_to_be_kept():
    assert take._fit(" a\x00\x1bb\u202ec\n\u2066d\ufffd") == " abc\nd"
    assert len(take._fit("ü" * 5000)) == 1000


def test_samples_go_with_their_snapshot(wanted, unreadable):
    for number in (1, 2):
        snapshot = Snapshot.objects.get(number=number)
        Samples.objects.create(snapshot=snapshot, claimed_at=now(), texts=[])
    wanted.run.keep_snapshots = 1
    assert retire_snapshots(wanted.run) == 1
    assert Samples.objects.get().snapshot == unreadable


def test_the_page_shows_them_as_text(client, wanted):
    texts = [{"language": "tr", "prompt": "<b>Bir", "text": " <script>alert(1)</script>\nson"}]
    snapshot = Snapshot.objects.get()
    Samples.objects.create(snapshot=snapshot, claimed_at=now(), texts=texts)
    page = client.get("/c/scratch/").content.decode()
    assert "<script>alert" not in page
    assert '<blockquote lang="tr" dir="auto">' in page
    assert "&lt;b&gt;Bir</b> &lt;script&gt;alert(1)&lt;/script&gt;\nson" in page
    assert snapshot.sha256 in page and "Snapshot 1, as it is" in page
    told = client.get("/c/scratch/pano").json()["samples"]
    assert told == {"snapshot": 1, "sha256": snapshot.sha256, "texts": texts}


def test_without_samples_the_page_has_no_such_part(client, scratch):
    assert "What it writes" not in client.get("/c/scratch/").content.decode()
    assert client.get("/c/scratch/pano").json()["samples"] is None


def test_the_command_sets_prompts_and_asks_at_once(scratch, tokenizer, tmp_path, capsys):
    (tmp_path / "prompts.jsonl").write_text(LINES, "utf-8")
    files = {"prompts": tmp_path / "prompts.jsonl", "tokenizer": tokenizer}
    call_command("sample_run", "scratch", json=True, **files)
    told = json.loads(capsys.readouterr().out)
    assert told == Samples.objects.get().texts
    call_command("sample_run", "scratch", stop=True)
    assert not Samples.objects.exists()
    with pytest.raises(CommandError, match="no prompts yet"):
        call_command("sample_run", "scratch")


def test_the_command_tells_what_is_wrong(scratch, unreadable, tmp_path):
    with pytest.raises(CommandError, match="error:"):
        call_command("sample_run", "scratch")
    (tmp_path / "prompts.jsonl").write_text("Bir gün\n", "utf-8")
    for name, why in (("prompts.jsonl", "is not like"), ("none.jsonl", "No such file")):
        with pytest.raises(CommandError, match=why):
            call_command("sample_run", "scratch", prompts=tmp_path / name)
    assert SamplePrompts.objects.exists()
