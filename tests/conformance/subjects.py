"""Coordinators to test: programs from a source text, in processes of their own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.site import REPO, Program, free_port
from tests.worker_client.little_coordinator import make_shard, make_snapshot
from worker_client.conformance.bench import Bench, Person
from worker_client.conformance.check import Outcome
from worker_client.conformance.checks import coordinator
from worker_client.conformance.runner import run_checks

EXAMPLE = REPO / "examples" / "minimal_coordinator.py"
FULLER = REPO / "tests" / "conformance" / "fuller_coordinator.py"
SEQ = 16
PATIENCE_S = 30.0


def write_run(folder: Path, shards: int = 2, *, labels: bool = False) -> Path:
    """A folder that the example serves: a snapshot of the tiny format, and shards, with labels
    for sft."""
    (folder / "snapshot.safetensors").write_bytes(make_snapshot())
    for number in range(shards):
        (folder / f"shard-{number:05d}.safetensors").write_bytes(make_shard(seq=SEQ, labels=labels))
    return folder


@contextmanager
def serving(source: str, folder: Path, *fields: str) -> Iterator[str]:
    """The base URL of a coordinator whose program is ``source``; ended with the block."""
    program, port = folder / "coordinator.py", free_port()
    program.write_text(source, "utf-8")
    usual = ("tur_sayisi=2", "sure=5", f"seq={SEQ}")
    arguments = [str(program), str(folder), str(port), *usual, *fields]
    process = Program(arguments, {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(REPO)})
    try:
        process.wait_until(lambda: any("Serving on" in line for line in process.lines))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()


def examine(url: str, *only: str, ask: Callable[[str], None] = lambda text: None) -> list[Outcome]:
    """The outcomes of the checks named, or of all; ``ask`` is what a person does who is asked."""
    bench = Bench(url, Person(ask, PATIENCE_S))
    return run_checks(coordinator.select(only), bench, lambda check: None, lambda outcome: None)
