"""Parsing, help, and the commands that need no torch."""

import json
from argparse import ArgumentTypeError

import pytest

from worker_client.cli.exits import Exit
from worker_client.cli.main import build_parser, main
from worker_client.cli.parsing import size_argument
from worker_client.cli.run import job_argument
from worker_client.contract.wire import Job

COMMANDS = ["run", "receipts", "models", "evaluate", "doctor", "init-snapshot", "shard", "export"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == Exit.OK
    assert f"python -m worker_client {command}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["run", "http://x"], ["receipts", "http://x"]])
def test_an_address_is_all_that_is_needed(arguments):
    assert build_parser().parse_args(arguments).url == "http://x"


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["run"], ["nonsense"], ["run", "http://x", "--tasks", "0"],
        ["run", "http://x", "--name", "A B"], ["run", "http://x", "--max-disk", "lots"],
        ["run", "http://x", "--max-hours", "nan"], ["export", "no-such-format"],
        ["init-snapshot", "tiny-qwen3-lora-r4", "--seed", "-1", "--out", "x"],
        ["shard", "tiny-qwen3-lora-r4", "--seq", "4", "--shards", "1", "--out", "x", "y"],
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_told_and_has_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Exit.USAGE
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("ftp://example.org/c/x", "https://example.org"),
        ("example.org", "https://example.org"),
        ("http://example.org/c/x", "--allow-http"),
        ("https://me:secret@example.org/c/x", "no user name"),
        ("https://example.org/c/x?a=b", "query"),
    ],
)
def test_an_address_not_to_be_used_is_told_with_the_remedy(url, remedy, capsys, tmp_path):
    assert main(["run", url, "--state-dir", str(tmp_path)]) == Exit.USAGE
    assert remedy in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_plain_http_is_allowed_when_asked_for():
    args = build_parser().parse_args(["run", "http://example.org/c/x", "--allow-http"])
    assert args.allow_http


@pytest.mark.parametrize(
    ("text", "size"), [("500M", 5 * 10**8), ("1.5 GB", 15 * 10**8), ("7", 7), ("2t", 2 * 10**12)]
)
def test_sizes_are_read(text, size):
    assert size_argument(text) == size


def test_doctor_finds_a_ready_computer_well(server, tiny_models, tmp_path, capsys):
    arguments = ["--models-dir", str(tiny_models), "--state-dir", str(tmp_path), "--json"]
    assert main(["doctor", server.url, *arguments, "--device", "cpu"]) == Exit.OK
    checks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [c["name"] for c in checks] == [
        "python", "torch", "disk", "memory", "coordinator", "clock", "models",
    ]  # fmt: skip
    assert all(c["ok"] for c in checks)
    assert "tiny-qwen3-lora-r4" in checks[-1]["detail"]


def test_doctor_names_a_remedy_for_all_that_is_wrong(tmp_path, capsys):
    arguments = ["--models-dir", str(tmp_path), "--state-dir", str(tmp_path), "--json"]
    status = main(["doctor", "http://127.0.0.1:1/c/x", *arguments, "--device", "cuda:99"])
    assert status == Exit.FAILED
    checks = {c["name"]: c for c in map(json.loads, capsys.readouterr().out.splitlines())}
    assert "--device cpu" in checks["torch"]["remedy"]
    assert "proxy" in checks["coordinator"]["remedy"]
    assert "models fetch" in checks["models"]["remedy"]


def test_jobs_are_named_in_english_or_as_on_the_wire():
    assert [job_argument(name) for name in ("evaluate", "olc", "verify")] == [
        *(Job.EVALUATE, Job.EVALUATE, Job.VERIFY)
    ]
    with pytest.raises(ArgumentTypeError, match="train, verify, evaluate"):
        job_argument("mine")
