"""``shard``: text into equal shards; coordinators call it."""

import argparse
import json
import sys
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import (
    add_format,
    add_models_dir,
    add_tokenizer,
    new_parser,
    positive_int,
    seq_argument,
)
from worker_client.cli.progress import bars


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "shard",
        "tokenise text into equal shards (for coordinators)",
        "shard qwen3-0.6b-lora-r16 --mode cpt --seq 512 --shards 8 --out shards texts/",
    )
    add_format(parser)
    parser.add_argument(
        "inputs", nargs="+", type=Path, metavar="INPUT", help=".txt, .jsonl, folder"
    )
    parser.add_argument("--mode", choices=("cpt", "sft"), default="cpt", help="default: cpt")
    parser.add_argument("--seq", type=seq_argument, required=True, help="tokens per row, 8 to 8192")
    parser.add_argument("--shards", type=positive_int, required=True, metavar="N")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_tokenizer(parser)
    add_models_dir(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.data.errors import DataError
    from worker_client.data.make import make_shards
    from worker_client.models.errors import ModelError
    from worker_client.models.store import ModelStore

    try:
        with bars() as progress:
            report = make_shards(
                args.format,
                ModelStore(args.models_dir),
                args.inputs,
                args.out,
                mode=args.mode,
                seq_len=args.seq,
                shards=args.shards,
                tokenizer=args.tokenizer,
                progress=progress,
            )
    except (DataError, ModelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    if args.json:
        print(json.dumps(report.to_json()))
    else:
        each = report.rows // args.shards
        print(f"{args.out}: {args.shards} shards of {each} rows of {args.seq} tokens")
    return Exit.OK
