"""``chunks``: what a coordinator needs of a text that volunteers prepare; coordinators call it."""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import (
    add_format,
    add_models_dir,
    add_tokenizer,
    new_parser,
    positive_int,
    seq_argument,
)
from worker_client.contract.formats import AdapterFormat

if TYPE_CHECKING:
    from worker_client.models.load import TextCodec


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "chunks",
        "what a coordinator needs of a text that volunteers prepare (for coordinators)",
        "chunks tokenizer qwen3-0.6b-lora-r16",
    )
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    _add_tokenizer(steps)
    _add_prepare(steps)
    _add_mix(steps)


def _add_tokenizer(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    example = "chunks tokenizer qwen3-0.6b-lora-r16"
    parser = new_parser(steps, "tokenizer", "where the tokenizer of a run lies", example)
    add_format(parser)
    add_tokenizer(parser)
    add_models_dir(parser)
    parser.set_defaults(execute=execute, verb=_tokenizer)


def _add_prepare(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    example = "chunks prepare scratch-tiny --tokenizer tokenizer.json --raw chunk --out rows.i4"
    parser = new_parser(steps, "prepare", "make rows of one chunk, as a volunteer does", example)
    add_format(parser)
    parser.add_argument("--tokenizer", type=Path, required=True, metavar="FILE")
    parser.add_argument("--raw", type=Path, required=True, metavar="FILE", help="articles as JSONL")
    parser.add_argument("--seq", type=seq_argument, required=True, help="tokens per row")
    parser.add_argument("--languages", default="", metavar="LIST", help="keep these only")
    parser.set_defaults(execute=execute, verb=_prepare)


def _add_mix(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    example = "chunks mix scratch-tiny --tokenizer tokenizer.json --list rows.txt --out shards"
    parser = new_parser(steps, "mix", "make shards of all chunks' rows", example)
    add_format(parser)
    parser.add_argument("--tokenizer", type=Path, required=True, metavar="FILE")
    parser.add_argument(
        "--list", type=Path, required=True, metavar="FILE", help="names files of rows, one a line"
    )
    parser.add_argument("--seq", type=seq_argument, required=True, help="tokens per row")
    parser.add_argument("--shards", type=positive_int, required=True, metavar="N")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.set_defaults(execute=execute, verb=_mix)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.data.errors import DataError
    from worker_client.models.errors import ModelError

    try:
        print(json.dumps(args.verb(args)))
    except (DataError, ModelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    return Exit.OK


def _codec(args: argparse.Namespace) -> "TextCodec":
    from worker_client.models.load import served_codec

    return served_codec(args.tokenizer, args.format)


def _tokenizer(args: argparse.Namespace) -> dict:
    from worker_client.models.errors import TokenizerRefused
    from worker_client.models.load import load_codec, served_codec
    from worker_client.models.store import ModelStore

    path, store = args.tokenizer, ModelStore(args.models_dir)
    if path is None and isinstance(args.format, AdapterFormat):
        path = store.open(args.format) / "tokenizer.json"
    codec = served_codec(path, args.format) if path else load_codec(args.format, store)
    if args.format.tokenizer_sha256 not in (None, codec.sha256):
        raise TokenizerRefused(
            f"{path} is not the tokenizer that shards of {args.format.id} are made with; "
            "volunteers cannot prepare text for it: use shard_text or corpus"
        )
    return {"file": str(path), "sha256": codec.sha256}


def _prepare(args: argparse.Namespace) -> dict:
    from worker_client.corpus.chunk import make_rows

    languages = tuple(filter(None, args.languages.split(",")))
    chunk = make_rows(args.raw, _codec(args), args.seq, languages)
    data = chunk.rows.astype("<i4").tobytes()
    return {"rows": len(chunk.rows), "sha256": hashlib.sha256(data).hexdigest()}


def _mix(args: argparse.Namespace) -> dict:
    from worker_client.corpus.mix import mix_chunks

    files = [Path(line) for line in args.list.read_text("utf-8").splitlines()]
    written = mix_chunks(files, _codec(args), args.seq, args.shards, args.out)
    return {"files": [shard.file for shard in written]}
