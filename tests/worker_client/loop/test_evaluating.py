"""``olc`` from lease to answer, with a real child and a coordinator over HTTP."""

import io

import numpy as np
import pytest

from tests.worker_client.little_coordinator import make_shard, problem, sha256
from worker_client.contract.encodings import CODECS
from worker_client.contract.encodings.delta import delta_file
from worker_client.contract.formats import load_adapter_format
from worker_client.contract.tensors import read_header
from worker_client.contract.wire import Evaluation, Job
from worker_client.display import events
from worker_client.loop.limits import Limits, TaskRefused
from worker_client.loop.worker import Hopeless

FMT = load_adapter_format("tiny-qwen3-lora-r4")
TARGETS = 40 * 15


@pytest.fixture
def olc(server):
    """``olc(*candidates)`` has the coordinator ask for these; each is what is special about it."""

    def ask(*candidates: dict, **files: bytes) -> None:
        server.more_files |= {f"/{name}": data for name, data in files.items()}
        aday = [{"adaptor": server.file_ref("/adaptor")} | one for one in candidates]
        server.task_changes = {"is": "olc", "aday": aday}

    return ask


def _vector(server) -> np.ndarray:
    header = read_header(io.BytesIO(server.snapshot), len(server.snapshot))
    return np.frombuffer(server.snapshot[header.data_start :], "<f4")


def _answer(server) -> Evaluation:
    (body,) = server.results
    return Evaluation.model_validate_json(body)


def test_the_answer_is_small_json_and_its_fate_is_not_asked(rig, server, olc):
    olc({})
    server.fates["lease-1"] = "kullanildi"
    assert rig.run() == "run_over"
    answer = _answer(server)
    assert answer.losses[0] == pytest.approx(np.log(FMT.vocab_size), abs=0.5)
    assert (answer.tokens, answer.bytes) == (TARGETS, TARGETS)
    assert answer.dtype and answer.device.startswith("cpu")
    (announced,) = server.requests("PUT", "/sonuc")
    assert announced.json["sha256"] == sha256(server.results[0])
    commitments = [b.json["ozet"] for b in server.requests("POST", "/gorev/") if "ozet" in b.json]
    assert commitments == [announced.json["sha256"]]
    assert server.requests("GET", "/sonuc") == []
    assert rig.told.of(events.Scored)[0].losses == answer.losses
    assert rig.totals.tokens == 0 and rig.totals.accepted == 1


def test_a_result_is_scored_in_every_encoding_it_may_have(rig, server, olc):
    start = _vector(server)
    moved = start + np.random.default_rng(3).normal(0, 0.2, len(start)).astype("<f4")
    bf16 = b"".join(delta_file(CODECS["bf16"], len(moved), [moved - start], {}))
    whole = server.snapshot[: -4 * len(moved)] + moved.tobytes()
    files = {"vector": moved.tobytes(), "ham": whole, "bf16": bf16}
    server.more_files = {f"/{name}": data for name, data in files.items()}
    ref = server.file_ref
    olc(
        {},
        {"sonuc": ref("/vector"), "kodlama": "vektor"},
        {"sonuc": ref("/ham"), "kodlama": "ham"},
        {"sonuc": ref("/bf16"), "kodlama": "bf16"},
    )
    rig.run()
    before, *after = _answer(server).losses
    assert after == [pytest.approx(after[0], rel=1e-2)] * 3
    assert abs(after[0] - before) > 1e-3
    with rig.state() as state:
        assert [path.name for path in state.results.iterdir()] == []


def test_each_candidate_may_have_data_of_its_own(rig, server, olc):
    other = make_shard(rows=10, highest=1)
    server.more_files = {"/other": other}
    olc({}, {"veri": server.file_ref("/other")}, {"veri": server.file_ref("/other"), "parca": 0})
    rig.run()
    own, others, some = _answer(server).losses
    assert own != pytest.approx(others, rel=1e-3) and others != some
    assert _answer(server).tokens == TARGETS


def test_progress_is_told_in_parts_of_the_inner_steps(rig, server, olc):
    server.shard = make_shard(rows=400)
    server.inner_steps = 10
    olc({})
    rig.run()
    steps = rig.told.of(events.Step)
    assert steps[-1].step == steps[-1].steps > 1
    told = [b.json["adim"] for b in server.requests("POST", "/gorev/") if "ozet" in b.json]
    assert told == [10]


def test_what_was_left_out_of_results_stays_where_it_is(rig, server, olc):
    """Measuring has nothing to do with a worker's own deltas."""
    with rig.state() as state:
        state.residual.write_bytes(b"left")
    server.next("PUT", "/sonuc", problem(409, "gorev_dolu", False))
    olc({})
    rig.run()
    with rig.state() as state:
        assert state.residual.read_bytes() == b"left"


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        ({"kodlama": "zip"}, "zip"),
        ({"adaptor": {"yol": "/adaptor", "sha256": "0" * 64, "boyut": 10**7}}, "cannot be"),
        ({"sonuc": {"yol": "/x", "sha256": "0" * 64, "boyut": 10**9}}, "cannot be"),
    ],
)
def test_a_candidate_that_cannot_be_is_refused_before_a_byte_travels(
    rig, server, olc, candidate, message
):
    olc(candidate)
    with pytest.raises(TaskRefused, match=message):
        rig.run()
    assert server.requests("GET", "/adaptor") == []


@pytest.mark.parametrize("encoding", ["vektor", "int8", "ham"])
def test_a_candidate_with_other_bytes_is_dropped(rig, server, olc, encoding):
    server.more_files = {"/odd": b"odd bytes"}
    olc({"sonuc": server.file_ref("/odd"), "kodlama": encoding})
    with pytest.raises(Hopeless):
        rig.run()
    assert server.results == []


def test_nobody_measures_without_data(rig, server, olc):
    olc({})
    server.task_changes["veri"] = None
    with pytest.raises(TaskRefused, match="needs data"):
        rig.run()


def test_a_worker_offers_what_it_is_told_to(rig, server):
    rig.limits = Limits(jobs=(Job.EVALUATE,))
    server.about_changes = {"isler": ["egit", "olc"]}
    with pytest.raises(TaskRefused, match="asks for egit; this worker does olc"):
        rig.run()
    assert server.requests("POST", "/gorev")[0].json["isler"] == ["olc"]


def test_a_run_without_any_of_its_jobs_is_no_run_for_it(rig, server):
    rig.limits = Limits(jobs=(Job.EVALUATE,))
    with pytest.raises(TaskRefused, match="--jobs"):
        rig.run()
    assert server.leases == {}
