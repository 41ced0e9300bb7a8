"""Some three thousand hostile cases, and what Hypothesis makes of a header and of a message.

``python -m benchmarks.fuzz`` plays a hundred thousand.
"""

import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing.endpoints import Endpoints
from tests.fuzzing.hostile import Client, lying
from tests.fuzzing.raw import served
from tests.fuzzing.readers import (
    CandidateReader,
    DeltaReader,
    ResultReader,
    SnapshotReader,
    Updates,
    Weights,
    odd_format,
)
from tests.fuzzing.running import Target, fuzz
from tests.fuzzing.wires import EXAMPLES, Wires
from worker_client.contract.formats import load_format

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
MEMORY_BYTES = 64 * 2**20


def assert_right(target: Target, cases: int, *outcomes: str) -> None:
    """No case went wrong, and what is named happened at all."""
    tally = fuzz(target, cases)
    assert (tally.wrongs, tally.crashes) == (0, 0), "\n".join(tally.wrong)
    assert set(outcomes) <= set(tally.outcomes)
    assert tally.growth_bytes < MEMORY_BYTES


def test_mutated_results_are_judged_as_an_independent_reader_does(tmp_path: Path) -> None:
    codes = ("bozuk_dosya", "eksik_tensor", "fazla_tensor", "norm_asimi", "sonlu_degil")
    assert_right(ResultReader(Weights(tmp_path)), 700, "accepted", "yanlis_sekil", *codes)


def test_results_of_a_real_format(tmp_path: Path) -> None:
    weights = Weights(tmp_path, load_format("tiny-qwen3-lora-r4"))
    assert_right(ResultReader(weights), 50, "accepted", "bozuk_dosya")


def test_encoded_results_are_decoded_as_the_protocol_says(tmp_path: Path) -> None:
    accepted = ("accepted bf16", "accepted int8", "accepted int4", "accepted topk")
    refused = ("bozuk_dosya", "yanlis_kodlama", "norm_asimi", "sonlu_degil")
    assert_right(DeltaReader(Weights(tmp_path, odd_format())), 300, *accepted, *refused)


def test_mutated_updates_lead_to_the_tasks_bytes_or_nowhere(tmp_path: Path) -> None:
    accepted = ("accepted bf16", "accepted int8", "accepted int4", "accepted topk")
    assert_right(Updates(Weights(tmp_path, odd_format())), 200, *accepted, "refused")


def test_mutated_snapshots_before_a_worker_trains_from_them(tmp_path: Path) -> None:
    assert_right(SnapshotReader(Weights(tmp_path)), 300, "accepted", "refused")


def test_mutated_candidates_are_measured_as_what_they_hold(tmp_path: Path) -> None:
    accepted = [f"accepted {how}" for how in ("ham", "vektor", "bf16", "int8", "int4", "topk")]
    assert_right(CandidateReader(Weights(tmp_path, odd_format())), 200, "refused", *accepted)


def test_mutated_messages_are_taken_only_within_the_protocols_ranges() -> None:
    assert_right(Wires(), 500, "taken", "refused")


@pytest.mark.django_db
def test_mutated_requests_to_every_endpoint(tmp_path: Path, settings: Any) -> None:
    settings.DISK_RESERVE_BYTES = 0
    results = [f"{how} result {status}" for how in ("ham", "int8") for status in (200, 400, 422)]
    files = ("adaptor 206", "fark 206", "ayrik 404", "aday 404", "ham_metin 404", "rows 200")
    losses = [f"losses{how} {status}" for how in ("", " in chunks") for status in (200, 400)]
    wanted = ("gorev 200", "gorev 400", "durum 200", "makbuz 200", "closed 403")
    assert_right(Endpoints(tmp_path), 600, *results, *files, *losses, *wanted)


def test_a_server_is_sent_bytes_that_are_http_in_most_ways(tmp_path: Path) -> None:
    with served(tmp_path) as target:
        assert_right(target, 100, "400", "404", "405")
        assert not target.site.said("Traceback")


def test_a_worker_meets_a_coordinator_that_answers_anything(tmp_path: Path) -> None:
    with lying() as liar:
        assert_right(Client(liar, tmp_path), 400, "task", "file", "verdict", "task: ProtocolBroken")


MIB = 2**20
GREEDY = {
    "many names": b"{" + b",".join(b'"%d":{}' % i for i in range(90_000)) + b"}",
    "many numbers": b'{"a":[' + b",".join([b"1"] * (MIB // 2 - 10)) + b"]}",
    "deep": b'{"a":' + b"[" * (MIB - 5),
    "one long name": b'{"' + b"a" * (MIB - 10) + b'":{}}',
    "digits": b'{"a":' + b"1" * (MIB - 10) + b"}",
    "long metadata": b'{"__metadata__":{"a":"' + b"b" * (MIB - 30) + b'"}}',
}


@pytest.mark.parametrize("what", GREEDY)
def test_no_header_costs_much_memory(tmp_path: Path, what: str) -> None:
    header, reader = GREEDY[what], ResultReader(Weights(tmp_path))
    assert len(header) <= MIB
    tracemalloc.start()
    try:
        code = reader.refusal(struct.pack("<Q", len(header)) + header)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code in ("bozuk_dosya", "eksik_tensor", "fazla_tensor")
    assert peak < MEMORY_BYTES


# --- Hypothesis ----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner),
    max_leaves=10,
)
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "F16", "I64", "X"]) | JSON,
        "shape": st.lists(st.integers(-1, 2**65), max_size=9) | JSON,
        "data_offsets": st.lists(st.integers(-1, 2**65), max_size=3) | JSON,
    }
)
HEADERS = st.dictionaries(st.text(max_size=20) | st.just("__metadata__"), ENTRY | JSON, max_size=5)
THOROUGH = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@THOROUGH
@given(header=HEADERS | JSON, data=st.binary(max_size=64), pad=st.integers(0, 8))
def test_any_header_is_read_or_refused(tmp_path: Path, header: Any, data: bytes, pad: int) -> None:
    body = json.dumps(header).encode() + b" " * pad
    ResultReader(Weights(tmp_path)).read(struct.pack("<Q", len(body)) + body + data)


@THOROUGH
@given(data=st.data())
def test_any_value_in_any_field_of_a_message(data: st.DataObject) -> None:
    from pydantic import ValidationError

    kind, example = data.draw(st.sampled_from(EXAMPLES))
    field = data.draw(st.sampled_from(sorted(example)))
    body = json.dumps(example | {field: data.draw(JSON)})
    try:
        kind.model_validate_json(body)
    except ValidationError:
        return
