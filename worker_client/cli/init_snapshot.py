"""``init-snapshot``: the snapshot a run starts from; coordinators call it."""

import argparse
import json
import sys
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import add_format, new_parser, seed_argument


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "init-snapshot",
        "write the snapshot that round 1 starts from (for coordinators)",
        "init-snapshot tiny-qwen3-lora-r4 --seed 1 --out snapshot-1.safetensors",
    )
    add_format(parser)
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument(
        "--seed",
        type=seed_argument,
        metavar="S",
        help="draw random weights; the run's seed, 0 to 2^53 - 1",
    )
    start.add_argument(
        "--from",
        dest="weights",
        type=Path,
        metavar="FILE",
        help="take those of a snapshot of the same format, of whatever round and run",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.training.errors import SnapshotRefused
    from worker_client.training.initial import write_continued, write_initial

    try:
        if args.weights:
            written = write_continued(args.format, args.weights, args.out)
        else:
            written = write_initial(args.format, args.seed, args.out)
    except SnapshotRefused as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    print(json.dumps({"file": str(args.out), "sha256": written.sha256, "size": written.size}))
    return Exit.OK
