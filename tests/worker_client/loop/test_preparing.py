"""``on_isle`` from lease to answer, with a real child and a coordinator over HTTP."""

import io
import json

import numpy as np
import pytest

from tests.worker_client.little_coordinator import problem
from worker_client.contract.formats import load_format
from worker_client.contract.tensors import read_header
from worker_client.contract.wire import Job
from worker_client.display import events
from worker_client.loop.limits import JOBS, Limits, TaskRefused
from worker_client.loop.trainer import Trainer, TrainerSettings
from worker_client.loop.worker import Hopeless
from worker_client.models.seeded_base import tokenizer_json
from worker_client.training.messages import Prepare

FMT = load_format("tiny-qwen3-lora-r4")
BODY = "Twice a day the ferry crosses the bay, and old Martha stands at the pier to watch. " * 3
WORDS = BODY.split()


def make_text(count: int = 5) -> bytes:
    draw = np.random.default_rng(1)
    bodies = [" ".join(draw.permutation(WORDS)) for _ in range(count)]
    return b"".join(json.dumps({"body": body}).encode() + b"\n" for body in bodies)


@pytest.fixture
def on_isle(server, rig):
    """``on_isle(ham_metin=b"...")`` has the coordinator ask for it; the worker offers it alone."""

    def ask(text: bytes | None = None, tokenizer: bytes | None = None, **changes) -> None:
        server.more_files = {
            "/text": make_text() if text is None else text,
            "/tokenizer": tokenizer_json().encode() if tokenizer is None else tokenizer,
        }
        belirtec = server.file_ref("/tokenizer")
        server.about_changes = {"isler": ["egit", "on_isle"]}
        server.task_changes = {
            "is": "on_isle",
            "ham_metin": server.file_ref("/text"),
            "belirtec": belirtec,
            "belirtec_sha256": belirtec["sha256"],
            "temizlik": "v1",
            "adaptor": None,
            "veri": None,
        } | changes

    rig.limits = Limits(jobs=(Job.PREPROCESS,))
    return ask


@pytest.fixture
def no_model(rig, tmp_path):
    """A child for a computer that has no base model."""
    trainer = Trainer(TrainerSettings(str(tmp_path / "none")), tmp_path / "log", lambda: None)
    rig.trainer = trainer
    yield trainer
    trainer.close()


def _texts(rig) -> list:
    """Files with the text in them, anywhere in the state folder."""
    files = [path for path in rig.root.rglob("*") if path.is_file()]
    return [path for path in files if b'{"body"' in path.read_bytes()]


def test_the_answer_is_a_shard_made_without_a_model(rig, server, on_isle, no_model):
    on_isle()
    assert rig.run() == "run_over"
    (body,) = server.results
    header = read_header(io.BytesIO(body), len(body))
    assert set(header.tensors) == {"input_ids"}
    entry, told = header.tensors["input_ids"], header.metadata
    assert entry.dtype == "I32" and entry.shape[1] == 16
    assert told["belirtec_sha256"] == FMT.tokenizer_sha256 and told["gorev"] == "lease-1"
    assert int(told["token"]) >= int(told["bayt"]) > 1000  # an end of text has no bytes
    (prepared,) = rig.told.of(events.Prepared)
    assert (prepared.lines, prepared.kept, prepared.rows) == (5, 5, entry.shape[0])
    assert rig.told.of(events.Ready) == []
    assert server.requests("GET", "/sonuc") == [] and rig.totals.tokens == 0


def test_text_is_deleted_when_the_task_is_done(rig, server, on_isle):
    on_isle()
    rig.run()
    assert server.results and _texts(rig) == []


def test_nobody_prepares_text_unasked(rig, server, on_isle):
    on_isle()
    rig.limits = Limits()
    with pytest.raises(TaskRefused, match="asks for on_isle"):
        rig.run()
    assert Job.PREPROCESS not in JOBS
    assert server.requests("POST", "/gorev")[0].json["isler"] == ["egit", "dogrula", "olc"]
    assert server.requests("GET", "/text") == []


def test_a_killed_workers_text_is_deleted_at_the_next_start(rig, server, on_isle):
    with rig.state() as state:
        (state.texts / "left").write_bytes(make_text())
        (state.texts / "left.part").write_bytes(make_text())
    with rig.state() as state:
        assert list(state.texts.iterdir()) == []


def test_a_stop_deletes_the_text_and_the_next_start_fetches_it_again(rig, server, on_isle):
    on_isle(make_text(4000))
    rig.told.react_to_transfer["text"] = rig.stop
    assert rig.run() == "stopped"
    assert _texts(rig) == []
    rig.stop.clear()
    rig.told.react_to_transfer.clear()
    assert rig.run() == "run_over"
    assert len(server.results) == 1 and len(server.leases) == 1


def test_text_of_a_refused_result_is_deleted_too(rig, server, on_isle):
    on_isle()
    server.next("PUT", "/sonuc", problem(409, "gorev_dolu", False))
    rig.run()
    assert _texts(rig) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temizlik": "v9"}, "rules of cleaning 'v9'"),
        ({"ham_metin": {"yol": "/text", "sha256": "0" * 64, "boyut": 2**24 + 1}}, "sends text of"),
        ({"belirtec": {"yol": "/t", "sha256": "0" * 64, "boyut": 2**26 + 1}}, "a tokenizer of"),
        ({"belirtec": {"yol": "/t", "sha256": "0" * 64, "boyut": 10}}, "not the run's"),
        ({"belirtec_sha256": "0" * 64}, "another tokenizer"),
    ],
)
def test_what_cannot_be_is_refused_before_a_byte_travels(rig, server, on_isle, changes, message):
    on_isle(**changes)
    with pytest.raises(TaskRefused, match=message):
        rig.run()
    assert server.requests("GET", "/text") == server.requests("GET", "/tokenizer") == []


def test_the_caps_of_its_person_hold(rig, server, on_isle):
    on_isle()
    rig.limits = Limits(transfer_bytes=1000, jobs=(Job.PREPROCESS,))
    with pytest.raises(TaskRefused, match="--max-transfer"):
        rig.run()


def test_other_bytes_than_announced_are_not_used(rig, server, on_isle):
    on_isle(make_text())
    server.more_files["/text"] = make_text()[:-1] + b" "
    with pytest.raises(Hopeless):
        rig.run()
    assert server.results == [] and _texts(rig) == []


def _child_says(no_model, tmp_path, tokenizer: bytes) -> Exception:
    """What the child says to a tokenizer that a task brings, whatever its digest."""
    (tmp_path / "raw").write_bytes(make_text())
    (tmp_path / "tokenizer").write_bytes(tokenizer)
    command = Prepare(
        lease_id="lease-1",
        round=1,
        format="scratch-tiny",
        seq_len=16,
        raw=str(tmp_path / "raw"),
        tokenizer=str(tmp_path / "tokenizer"),
        out=str(tmp_path / "out"),
    )
    with pytest.raises(Exception) as caught:
        no_model.prepare(command, lambda: None)
    return caught.value


def test_a_tokenizer_that_takes_all_memory_ends_the_child_and_nothing_else(no_model, tmp_path):
    grows = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 10**6}
    whole = json.loads(tokenizer_json()) | {
        "normalizer": {"type": "Sequence", "normalizers": [grows] * 2}
    }
    failed = _child_says(no_model, tmp_path, json.dumps(whole).encode())
    assert getattr(failed, "code", "") in ("child_died", "tokenizer_refused")


TOO_LARGE = tokenizer_json().replace('"vocab": {', '"vocab": {"far": 70000, ')


@pytest.mark.parametrize("tokenizer", [b"nothing", TOO_LARGE.encode()])
def test_a_hostile_tokenizer_is_a_sentence_and_the_child_lives(no_model, tmp_path, tokenizer):
    failed = _child_says(no_model, tmp_path, tokenizer)
    assert getattr(failed, "code", "") == "tokenizer_refused" and "token" in str(failed)
    assert no_model._child is not None and no_model._child.alive


def test_it_waits_until_an_admin_lets_it_see_text(rig, server, on_isle):
    on_isle()
    server.next("POST", "/gorev", *[problem(403, "onay_bekliyor", True)] * 2)
    assert rig.run() == "run_over"
    asked = server.requests("POST", "/gorev")
    assert len({seen.json["istek"] for seen in asked[:3]}) == 1 and len(server.results) == 1
