"""``conformance``: does a coordinator, or a worker, keep to the protocol?"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import format_argument, new_parser, positive_int
from worker_client.contract.addresses import AddressRefused, check_base_url
from worker_client.contract.formats import AdapterFormat

if TYPE_CHECKING:
    from worker_client.conformance.check import Check, Outcome, Registry

TINY = "tiny-qwen3-lora-r4"
ABOUT = """\
Test a coordinator, or a worker, against protocol v1: a black box, in any language.

A coordinator is tested through a run that exists for the test alone, since the test delivers
results of its own making and brings the run to its end. Make one that is open, that nobody else
works on, with 2 rounds, 2 shards and short leases:

  sure        5 to 10 s     so that a lease can be seen to expire
  tur_sayisi  2             so that a second round shows what momentum does; 3 show disputes
  n_parca     2             3 where there are chunks, encodings or repetitions
  a round's deadline far away, one result per unit to close it

With this project's server that is
  manage.py create_run suite --format FORMAT --data SHARDS --rounds 2 --lease-seconds 5 --rule mean
A test takes one to three minutes. Files are fetched whole: choose a small format.

What a run has only one of needs a run of its own: an encoding (encoding-*), fark (update-*),
olc (measure-*), a closed run (closed-*), raw text (text-*). dogrula (verify-*, dispute-*) takes
workers at several addresses, so a coordinator at 127.0.0.1. docs/conformance.md has all of it.

Every line of the table is one clause of docs/protocol-v1.md in the protocol's own words:
  passed           it holds, as far as one test can show
  failed           it does not hold; the line says what was seen
  absent           an optional part that this coordinator leaves out
  not observable   this run cannot show it; the line says why

The other way round, --worker CMD plays a coordinator to a worker: a strict one that loses answers
and cuts lines, then hostile ones. CMD is started many times; {url} in it becomes the coordinator's
address (without it the address comes last) and {dir} a folder that is fresh each time. The worker
needs the base model of --format; the files are made of random numbers.
"""
EXAMPLES = """\
examples:
  python -m worker_client conformance http://127.0.0.1:8000/c/suite
  python -m worker_client conformance http://127.0.0.1:8000/c/suite --only 'file-*' --only accepted
  python -m worker_client conformance https://example.org/c/suite --json --junit report.xml
  python -m worker_client conformance --worker './my-worker --state {dir} {url}'

exit status: 0 if nothing failed, 1 if something did, 2 for a wrong command line"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands, "conformance", "test a coordinator, or a worker, against the protocol", ""
    )
    parser.description, parser.epilog = ABOUT, EXAMPLES
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument("url", metavar="URL", nargs="?", help="the base URL of a test run")
    subject.add_argument("--worker", metavar="CMD", help="test this worker instead")
    parser.add_argument(
        "--format",
        type=format_argument,
        default=TINY,
        metavar="FORMAT",
        help=f"what the worker is asked to train (default: {TINY})",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="only the checks of this id, or pattern of ids; may be repeated",
    )
    parser.add_argument("--list", action="store_true", help="list the checks and their clauses")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report as well")
    parser.add_argument(
        "--wait-for-person",
        type=positive_int,
        metavar="SECONDS",
        help="name the workers of the test that are to see raw text (text-*), and wait so long for "
        "you to let them",
    )
    parser.add_argument("--allow-http", action="store_true", help="plain http beyond this computer")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    try:
        checks = _registry(bool(args.worker)).select(args.only)
        if args.list:
            return _list(checks)
        if args.worker:
            if not isinstance(args.format, AdapterFormat):
                raise LookupError(
                    f"{args.format.id} is no adapter; --format takes one over a base model"
                )
            return _report(args, args.worker, _test_worker(args, checks))
        if not args.url:
            raise LookupError("say what to test: conformance URL, or conformance --worker CMD")
        url = check_base_url(args.url, allow_http=args.allow_http)
    except (LookupError, AddressRefused) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.USAGE
    return _report(args, url, _test_coordinator(url, checks, args.wait_for_person))


def _registry(of_worker: bool) -> "Registry":
    from worker_client.conformance.checks import coordinator
    from worker_client.conformance.worker.checks import worker

    return worker if of_worker else coordinator


def _list(checks: "Sequence[Check]") -> Exit:
    for check in checks:
        print(f"{check.id:<24} {check.clause}")
    return Exit.OK


def _test_coordinator(
    url: str, checks: "Sequence[Check]", patience: float | None
) -> "list[Outcome]":
    from worker_client.conformance.bench import Bench, Person
    from worker_client.conformance.progress import Progress
    from worker_client.conformance.runner import run_checks

    with Progress(len(checks)) as progress:
        person = None if patience is None else Person(progress.say, patience)
        return run_checks(checks, Bench(url, person), progress.begins, progress.ended)


def _test_worker(args: argparse.Namespace, checks: "Sequence[Check]") -> "list[Outcome]":
    from worker_client.conformance.progress import Progress
    from worker_client.conformance.runner import run_checks
    from worker_client.conformance.worker.rehearsal import Rehearsal

    with Progress(len(checks)) as progress, Rehearsal(args.worker, args.format) as rehearsal:
        return run_checks(checks, rehearsal, progress.begins, progress.ended)


def _report(args: argparse.Namespace, subject: str, outcomes: "list[Outcome]") -> Exit:
    from rich.console import Console

    from worker_client.conformance import report

    if args.junit:
        args.junit.write_bytes(report.to_junit(subject, outcomes))
    if args.json:
        print(json.dumps(report.to_json(subject, outcomes), ensure_ascii=False))
    else:
        report.print_table(outcomes, Console())
    return Exit.FAILED if report.failed(outcomes) else Exit.OK
