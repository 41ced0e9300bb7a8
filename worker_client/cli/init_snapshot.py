"""``init-snapshot``: the snapshot a run starts from; coordinators call it."""

import argparse
import json
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
    parser.add_argument(
        "--seed",
        type=seed_argument,
        required=True,
        metavar="S",
        help="the run's seed, 0 to 2^53 - 1",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.training.initial import write_initial

    written = write_initial(args.format, args.seed, args.out)
    print(json.dumps({"file": str(args.out), "sha256": written.sha256, "size": written.size}))
    return Exit.OK
