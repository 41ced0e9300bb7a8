"""``export``: a snapshot as a folder that PEFT or transformers loads."""

import argparse
import json
import sys
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import add_format, add_tokenizer, new_parser


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "export",
        "write a snapshot as a folder that peft (adapters) or transformers (whole models) loads",
        "export qwen3-0.6b-lora-r16 --adapter snapshot.safetensors --out my-adapter",
    )
    add_format(parser)
    parser.add_argument("--snapshot", "--adapter", type=Path, required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    add_tokenizer(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.training.errors import TrainingError
    from worker_client.training.export import export

    try:
        written = export(args.format, args.snapshot, args.out, args.tokenizer)
    except TrainingError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    print(json.dumps({"folder": str(args.out), "sha256": written.sha256, "size": written.size}))
    return Exit.OK
