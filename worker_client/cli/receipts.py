"""``receipts``: what became of each result that this computer's pseudonym delivered."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import add_coordinator, name_argument, new_parser
from worker_client.client import coordinator
from worker_client.client.faults import Fault
from worker_client.client.link import Link
from worker_client.contract.addresses import AddressRefused, check_base_url
from worker_client.contract.wire import Job, Receipt
from worker_client.display.screens import clean
from worker_client.state.folder import (
    coordinator_folder,
    default_state_dir,
    load_pseudonym,
    own_name,
)

COLUMNS = (
    f"{'received (UTC)':<17} {'task':<24} {'round':>6} {'shard':>6} {'sha256':<12} "
    f"{'tokens':>9} {'weight':>7} verdict"
)


class NoToken(Exception):
    """This computer owns no such pseudonym there; the message names the remedy."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    example = "receipts https://example.org/c/tr-wiki"
    parser = new_parser(commands, "receipts", "show what became of your results", example)
    add_coordinator(parser)
    parser.add_argument("--name", type=name_argument, help="pseudonym (default: this computer's)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, in full")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    try:
        _show(args)
    except AddressRefused as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.USAGE
    except (NoToken, Fault) as error:
        print(f"error: {clean(str(error))}", file=sys.stderr)
        return Exit.FAILED
    return Exit.OK


def _show(args: argparse.Namespace) -> None:
    link = _open(args)
    if not args.json:
        print(COLUMNS)
    count = 0
    for receipt in _receipts(link):
        count += 1
        print(receipt.model_dump_json() if args.json else _row(receipt))
    if not args.json and not count:
        print("none yet")


def _open(args: argparse.Namespace) -> Link:
    base_url = check_base_url(args.url, allow_http=args.allow_http)
    root: Path = args.state_dir or default_state_dir()
    name = args.name or own_name(root)
    pseudonym = load_pseudonym(coordinator_folder(root, base_url), name)
    if pseudonym is None:
        raise NoToken(
            f"{root} holds no token of {name} for {base_url}; name the pseudonym and the folder "
            "that you work with by --name and --state-dir"
        )
    link = Link(base_url)
    link.token = pseudonym.token
    return link


def _receipts(link: Link) -> Iterator[Receipt]:
    before = None
    while True:
        page = coordinator.receipts(link, before)
        yield from page.receipts
        # A hostile coordinator must not lead us in a circle.
        if page.before is None or (before is not None and page.before >= before):
            return
        before = page.before


def _row(receipt: Receipt) -> str:
    weight = "" if receipt.weight is None else f"{receipt.weight:.4f}"
    tokens = "" if receipt.tokens is None else str(receipt.tokens)
    code = f" [{receipt.code}]" if receipt.code else ""
    verdict = receipt.fate.name.lower()
    if receipt.job != Job.TRAIN:
        verdict += f" ({receipt.job})"
    return clean(
        f"{receipt.received_at:%Y-%m-%d %H:%M}  {receipt.lease_id[:24]:<24} {receipt.round:>6} "
        f"{receipt.shard:>6} {receipt.sha256[:12]} {tokens:>9} {weight:>7} {verdict}{code}"
    )
