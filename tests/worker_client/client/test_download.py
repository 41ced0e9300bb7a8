"""Downloads in ranges: continued, checked, and never fooled."""

import threading
from pathlib import Path

import numpy as np
import pytest

from tests.worker_client.conftest import impatient, no_report
from tests.worker_client.little_coordinator import (
    CHUNK,
    PROTOCOL,
    LittleCoordinator,
    answer,
    drop_line,
    endless,
    sha256,
)
from worker_client.client.download import MAX_BAD_FILES, Download, part_path
from worker_client.client.faults import Final, Stopped
from worker_client.client.link import Link
from worker_client.client.patience import Patience
from worker_client.contract.wire import FileRef

DATA = np.random.default_rng(3).bytes(3 * CHUNK + 17)


@pytest.fixture
def ref(server: LittleCoordinator) -> FileRef:
    server.snapshot = DATA
    return FileRef.model_validate(server.file_ref("/adaptor"))


@pytest.fixture
def download(link: Link, patience: Patience, tmp_path: Path) -> Download:
    return Download(link, patience, tmp_path, no_report)


def ranges(server: LittleCoordinator) -> list[str]:
    return [s.headers["Range"] for s in server.requests("GET", "/adaptor")]


def test_a_file_comes_in_ranges_of_the_size_the_coordinator_prefers(server, download, ref):
    path = download.fetch(ref)
    assert path.read_bytes() == DATA
    assert path.name == sha256(DATA)
    assert ranges(server) == [
        "bytes=0-65535", "bytes=65536-131071", "bytes=131072-196607", "bytes=196608-196624",
    ]  # fmt: skip
    assert server.seen[0].headers["If-Range"] == f'"{ref.sha256}"'


def test_progress_is_told(link, patience, tmp_path, ref):
    told: list[tuple[int, int]] = []
    Download(link, patience, tmp_path, lambda *numbers: told.append(numbers)).fetch(ref)
    assert told[0] == (0, len(DATA))
    assert told[-1] == (len(DATA), len(DATA))
    assert told == sorted(told)


def test_a_file_that_is_here_is_not_fetched_again(server, download, ref):
    download.fetch(ref)
    count = len(server.seen)
    download.fetch(ref)
    assert len(server.seen) == count


def test_a_file_that_rotted_on_disk_is_fetched_again(download, ref):
    path = download.fetch(ref)
    path.write_bytes(b"\0" * len(DATA))
    assert download.fetch(ref).read_bytes() == DATA


def test_what_a_killed_worker_left_is_continued(server, download, ref, tmp_path):
    part_path(tmp_path, ref).write_bytes(DATA[:100_000])
    assert download.fetch(ref).read_bytes() == DATA
    assert ranges(server)[0] == "bytes=100000-165535"
    assert not part_path(tmp_path, ref).exists()


def test_a_part_of_another_file_costs_one_fresh_start(download, ref, tmp_path):
    part_path(tmp_path, ref).write_bytes(b"x" * 100_000)
    assert download.fetch(ref).read_bytes() == DATA


def test_a_part_that_is_too_long_costs_one_fresh_start(download, ref, tmp_path):
    part_path(tmp_path, ref).write_bytes(DATA + b"more")
    assert download.fetch(ref).read_bytes() == DATA


def test_broken_lines_and_errors_are_outlasted(server, download, ref):
    server.next("GET", "/adaptor", answer(503), drop_line, answer(500), answer(429))
    assert download.fetch(ref).read_bytes() == DATA


def test_an_answer_without_bytes_is_not_asked_for_again_at_once(server, download, ref, patience):
    told = {**PROTOCOL, "Content-Range": f"bytes 0-{CHUNK - 1}/{len(DATA)}"}
    server.next("GET", "/adaptor", *[answer(206, b"", headers=told)] * 2)
    waits: list[float] = []
    patience.backoff.failed = lambda retry_after=0: waits.append(retry_after)
    assert download.fetch(ref).read_bytes() == DATA
    assert len(waits) == 2


def test_a_line_that_breaks_inside_a_range_keeps_what_came(server, download, ref):
    def half(handler) -> None:
        handler.send_response(206)
        headers = PROTOCOL | {"Content-Range": f"bytes 0-{CHUNK - 1}/{len(DATA)}"}
        for name, value in (headers | {"Content-Length": str(CHUNK)}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(DATA[:1000])
        handler.close_connection = True

    server.next("GET", "/adaptor", half)
    assert download.fetch(ref).read_bytes() == DATA
    assert ranges(server)[1] == f"bytes=1000-{1000 + CHUNK - 1}"


def lying(where: str, body: bytes, status: int = 206):
    return answer(status, body, {"Content-Range": where})


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        (answer(200, DATA), "instead of 206"),
        (lying(f"bytes 5-{CHUNK + 4}/{len(DATA)}", DATA[5 : CHUNK + 5]), "asked for bytes"),
        (lying(f"bytes 0-{CHUNK - 1}/{len(DATA) + 1}", DATA[:CHUNK]), "asked for bytes"),
        (lying(f"bytes 0-{CHUNK - 1}/*", DATA[:CHUNK]), "asked for bytes"),
        (lying("", DATA[:CHUNK]), "asked for bytes"),
        (lying(f"bytes 0-{CHUNK - 1}/{len(DATA)}", DATA[: CHUNK + 1]), "longer"),
        (endless, "instead of 206"),
        (lying(f"bytes 0-{CHUNK - 1}/{len(DATA)}", b"\0" * CHUNK), "another digest"),
        (
            answer(206, DATA[:CHUNK], {
                "Content-Range": f"bytes 0-{CHUNK - 1}/{len(DATA)}", "Content-Encoding": "gzip",
            }),
            "encoded",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_not_as_announced_is_refused_with_the_reason(
    server, link, tmp_path, ref, hostile, message
):
    told: list = []
    server.next("GET", "/adaptor", hostile)
    download = Download(link, impatient(told=told), tmp_path, no_report)
    assert download.fetch(ref).read_bytes() == DATA
    assert message in " ".join(reason for reason, _ in told)


def test_a_coordinator_that_always_lies_is_given_up(server, download, ref, tmp_path):
    server.snapshot = DATA[:-1] + b"?"
    with pytest.raises(Final, match=f"{MAX_BAD_FILES} times"):
        download.fetch(ref)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone_is_final(server, download, ref):
    server.next("GET", "/adaptor", answer(410))
    with pytest.raises(Final):
        download.fetch(ref)


def test_a_stop_between_ranges_keeps_the_part(link, tmp_path, ref):
    stop = threading.Event()

    def stop_after_first(done: int, total: int) -> None:
        if done:
            stop.set()

    download = Download(link, impatient(stop), tmp_path, stop_after_first)
    with pytest.raises(Stopped):
        download.fetch(ref)
    assert part_path(tmp_path, ref).read_bytes() == DATA[: 2 * CHUNK]
