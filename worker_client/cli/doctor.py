"""``doctor``: is this computer ready, and what to do where it is not."""

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from worker_client.cli import checks
from worker_client.cli.exits import Exit
from worker_client.cli.parsing import add_models_dir, new_parser
from worker_client.display.screens import clean
from worker_client.state.folder import default_state_dir


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "doctor",
        "check that this computer is ready to work",
        "doctor https://example.org/c/tr-wiki",
    )
    parser.add_argument("url", metavar="URL", nargs="?", help="also check this coordinator")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or cuda:N")
    parser.add_argument("--state-dir", type=Path, metavar="DIR")
    parser.add_argument("--allow-http", action="store_true", help="accept plain http")
    parser.add_argument("--json", action="store_true", help="one JSON object per check")
    add_models_dir(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    well = True
    for check in _checks(args):
        well = well and check.ok
        print(json.dumps(dataclasses.asdict(check)) if args.json else _line(check), flush=True)
    return Exit.OK if well else Exit.FAILED


def _checks(args: argparse.Namespace) -> Iterator[checks.Check]:
    yield checks.check_python()
    yield checks.check_torch(args.device)
    yield checks.check_disk(args.state_dir or default_state_dir())
    yield checks.check_memory()
    wanted = None
    if args.url:
        coordinator = checks.CoordinatorCheck(args.url, args.allow_http)
        yield from coordinator.checks()
        wanted = coordinator.format
    yield checks.check_models(args.models_dir, wanted)


def _line(check: checks.Check) -> str:
    line = f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<12} {clean(check.detail)}"
    return line if check.ok else f"{line}\n      remedy: {clean(check.remedy)}"
