"""The parser of all commands, and what becomes of their errors."""

import argparse
import sys
from collections.abc import Sequence

from worker_client.cli import (
    chunks,
    conformance,
    corpus,
    doctor,
    evaluate,
    export,
    init_snapshot,
    models,
    receipts,
    run,
    sample,
    shard,
)
from worker_client.cli.exits import HELP, Exit

COMMANDS = (
    run,
    receipts,
    models,
    evaluate,
    sample,
    doctor,
    init_snapshot,
    shard,
    corpus,
    chunks,
    export,
    conformance,
)
DESCRIPTION = "Lend this computer to a community that trains a language model together."
EPILOG = f"""\
a first time:
  python -m worker_client doctor https://example.org/c/tr-wiki
  python -m worker_client models fetch qwen3-0.6b-lora-r16
  python -m worker_client run https://example.org/c/tr-wiki

{HELP}"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m worker_client",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command named in ``argv``; the exit status (see ``exits``)."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.execute(args))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.COMPUTER
