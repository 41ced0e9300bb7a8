"""Work that needs torch or a tokenizer runs in a child: ``python -m worker_client ...``.

The server process itself never imports torch, so its memory stays small.
"""

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from worker_client.contract import __file__ as contract_file

PROJECT = Path(contract_file).parents[2]


def tokenizer_option(path: Path | None) -> list[str]:
    """How a child is told of a from-scratch run's tokenizer, if there is one."""
    return ["--tokenizer", str(path)] if path else []


def add_tokenizer(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer", type=Path, help="the run's tokenizer.json, for a model from scratch"
    )


def run_worker_client(*arguments: str) -> dict:
    """Run ``python -m worker_client ARGUMENTS``; returns the JSON object it prints last.

    Its progress and complaints go to this process's standard error.

    Raises:
        CommandError: when it fails; what went wrong has been printed.
    """
    command = [sys.executable, "-m", "worker_client", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, cwd=PROJECT, check=False, text=True)
    if finished.returncode:
        raise CommandError(f"worker_client {arguments[0]} failed; see the message above")
    lines = finished.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {}


class ChildFailed(Exception):
    """A child said why it could not answer, or did not answer in time."""


def ask_worker_client(*arguments: str, timeout_s: float) -> dict:
    """As ``run_worker_client``, where nobody watches: silent, and only so long.

    Raises:
        ChildFailed: with the last that it said.
    """
    command = [sys.executable, "-m", "worker_client", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, cwd=PROJECT, check=False, text=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        raise ChildFailed(f"no answer within {timeout_s:.0f} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise ChildFailed(said[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def pass_to_worker_client(*arguments: str) -> int:
    """Run ``python -m worker_client ARGUMENTS`` in this terminal; its exit status.

    Ctrl-C reaches it too; this process waits until it has ended.
    """
    command = [sys.executable, "-m", "worker_client", *arguments]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(command, env=environment) as child:
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                continue
