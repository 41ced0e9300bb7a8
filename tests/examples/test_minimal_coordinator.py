"""examples/minimal_coordinator.py trains a real model with real workers."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.conformance.subjects import EXAMPLE
from tests.e2e.site import PATIENCE_S, REPO, Program, WorkerProcess, fetch_model, free_port
from tests.worker_client.little_coordinator import sha256
from worker_client.contract.formats import load_format

TINY = "tiny-qwen3-lora-r4"
ROUNDS, SEQ = 2, 32
TEXT = "Damlaya damlaya göl olur. Az söyle, çok dinle. Gülü seven dikenine katlanır. " * 60


def test_it_is_short_and_needs_the_standard_library_only() -> None:
    source = EXAMPLE.read_text("utf-8")
    assert len(source.splitlines()) < 250
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    models = fetch_model(tmp_path / "models")
    return {"PYTHONPATH": str(REPO), "MODELEN_MODELS_DIR": str(models), "PYTHONUNBUFFERED": "1"}


def prepare(folder: Path, environment: dict[str, str]) -> Path:
    """A run's folder by the commands that the example's own text names."""
    (folder / "texts").mkdir()
    (folder / "texts" / "sayings.txt").write_text(TEXT, "utf-8")
    run = folder / "run"
    snapshot = str(run / "snapshot.safetensors")
    run.mkdir()
    for arguments in (
        ["init-snapshot", TINY, "--seed", "0", "--out", snapshot],
        [
            "shard",
            TINY,
            str(folder / "texts"),
            "--seq",
            str(SEQ),
            "--shards",
            "2",
            "--out",
            str(run),
        ],
    ):
        command = [sys.executable, "-m", "worker_client", *arguments]
        subprocess.run(command, check=True, env=environment, cwd=REPO, timeout=PATIENCE_S)
    return run


def test_two_real_workers_bring_a_run_to_its_end(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    run, port = prepare(tmp_path, environment), free_port()
    fields = [f"tur_sayisi={ROUNDS}", f"seq={SEQ}", "ic_adim=3"]
    server = Program([str(EXAMPLE), str(run), str(port), *fields], environment)
    workers: list[WorkerProcess] = []
    url = f"http://127.0.0.1:{port}"
    try:
        server.wait_until(lambda: any("Serving on" in line for line in server.lines))
        for name in ("ada", "bob"):
            options = ["--state-dir", str(tmp_path / name), "--threads", "1", "--device", "cpu"]
            command = ["-m", "worker_client", "run", url, "--name", name, "--json", *options]
            workers.append(WorkerProcess(command, environment))
        assert [worker.wait() for worker in workers] == [0, 0]
        status = requests.get(f"{url}/durum", timeout=PATIENCE_S).json()
        last = requests.get(f"{url}/adaptor?tur={ROUNDS + 1}", timeout=PATIENCE_S).content
    finally:
        for program in (server, *workers):
            if program.alive:
                program.kill()
    assert status["durum"] == "bitti"
    assert status["sonuc"] == {"kabul": 2 * ROUNDS, "ret": 0, "elenen": 0}
    assert status["gecmis"][-1]["sha256"] == sha256(last)
    fates = [event["fate"] for worker in workers for event in worker.named("fate")]
    assert fates == ["birlesti"] * (2 * ROUNDS)
    assert score(last, tmp_path, environment) < score(None, tmp_path, environment)


def score(adapter: bytes | None, folder: Path, environment: dict[str, str]) -> float:
    """Bits per byte of the text with a snapshot, or of the base model alone."""
    command = ["evaluate", TINY, "--text", str(folder / "texts" / "sayings.txt"), "--json"]
    command += ["--seq", str(SEQ), "--device", "cpu", "--threads", "1"]
    if adapter is not None:
        (folder / "last.safetensors").write_bytes(adapter)
        command += ["--adapter", str(folder / "last.safetensors")]
    done = subprocess.run(
        [sys.executable, "-m", "worker_client", *command],
        check=True,
        env=environment,
        cwd=REPO,
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
    )
    return json.loads(done.stdout)["bits_per_byte"]


def test_the_format_it_names_is_known() -> None:
    assert f'"taban_model": "{load_format(TINY).base_ref}"' in EXAMPLE.read_text("utf-8")
