"""``corpus``: from articles to the shards of a run, in four steps; coordinators call it."""

import argparse
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import (
    add_models_dir,
    add_tokenizer,
    format_argument,
    new_parser,
    positive_int,
    seed_argument,
    seq_argument,
)
from worker_client.cli.progress import bars
from worker_client.cli.tables import corpus_table
from worker_client.models.progress import Progress

Verb = Callable[[argparse.Namespace, Progress], dict]


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "corpus",
        "articles into the shards of a run, step by step (for coordinators)",
        "corpus ingest var/corpus articles.jsonl",
    )
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for add in (_add_ingest, _add_tokenizer, _add_pack, _add_shard):
        add(steps)


def _step(
    steps: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    example: str,
    verb: Verb,
) -> argparse.ArgumentParser:
    parser = new_parser(steps, name, summary, f"corpus {name} {example}")
    parser.add_argument("corpus", type=Path, metavar="FOLDER", help="of the corpus")
    parser.add_argument("--again", action="store_true", help="anew, throwing away what is there")
    parser.add_argument("--json", action="store_true", help="the report as one JSON object")
    parser.set_defaults(execute=execute, verb=verb)
    return parser


def _add_processes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--processes",
        type=positive_int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="work in so many processes (default: all cores)",
    )


def _add_ingest(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _step(
        steps,
        "ingest",
        "clean articles and leave out what is short, broken, in another language or a copy",
        "var/corpus articles/ --languages de,tr",
        _ingest,
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        type=Path,
        metavar="INPUT",
        help=".jsonl file or folder of such; a line is an object with body and perhaps title, "
        "summary, category, language",
    )
    parser.add_argument(
        "--languages", default="", metavar="LIST", help="keep these only, such as de,tr"
    )
    parser.add_argument(
        "--min-characters",
        type=positive_int,
        default=200,
        metavar="N",
        help="shortest (default: 200)",
    )
    parser.add_argument(
        "--similarity",
        type=share_argument,
        default=0.8,
        metavar="S",
        help="of shared word sequences from which an article is a copy (default: 0.8)",
    )
    _add_processes(parser)


def _add_tokenizer(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _step(
        steps,
        "tokenizer",
        "learn a tokenizer, balanced over the languages",
        "var/corpus --vocabulary 49152",
        _tokenizer,
    )
    parser.add_argument(
        "--vocabulary", type=positive_int, default=49152, metavar="N", help="default: 49152"
    )
    parser.add_argument(
        "--budget-mb",
        type=positive_int,
        default=100,
        metavar="N",
        help="learn from at most so much text, all languages together (default: 100)",
    )
    _add_held_out(parser)


def _add_pack(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _step(
        steps,
        "pack",
        "tokenise, shuffle the documents, hold some out, cut rows",
        "var/corpus --seq 1024",
        _pack,
    )
    parser.add_argument("--seq", type=seq_argument, default=512, help="tokens per row")
    parser.add_argument("--seed", type=seed_argument, default=0, metavar="S", help="of the order")
    parser.add_argument(
        "--format", type=format_argument, metavar="FORMAT", help="for this format's vocabulary"
    )
    add_tokenizer(parser)
    add_models_dir(parser)
    _add_held_out(parser)
    _add_processes(parser)


def _add_held_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--held-out",
        type=share_argument,
        default=0.01,
        metavar="SHARE",
        help="of the documents, never trained on; the same for tokenizer and pack (default: 0.01)",
    )


def _add_shard(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _step(
        steps,
        "shard",
        "write the files that create_run --data takes",
        "var/corpus --shards 8 --out var/shards",
        _shard,
    )
    parser.add_argument("--shards", type=positive_int, required=True, metavar="N")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--by-language", action="store_true", help="one language a shard (default: all equal)"
    )
    parser.add_argument("--source", default="", help="where the text is from")
    parser.add_argument("--licence", default="", help="the text's licence")
    _add_processes(parser)


def share_argument(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; it must be 0 to 1")
    return value


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.data.errors import DataError
    from worker_client.models.errors import ModelError

    try:
        with bars() as progress:
            report = args.verb(args, progress)
    except (DataError, ModelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    except sqlite3.Error as error:  # a full disk, above all
        print(f"error: the index in {args.corpus} cannot be used: {error}", file=sys.stderr)
        return Exit.COMPUTER
    print(json.dumps(report, ensure_ascii=False) if args.json else corpus_table(args.step, report))
    return Exit.OK


def _ingest(args: argparse.Namespace, progress: Progress) -> dict:
    from worker_client.corpus.ingest import ingest
    from worker_client.corpus.quality import Rules

    languages = tuple(sorted(filter(None, args.languages.split(","))))
    rules = Rules(languages, args.min_characters, args.similarity)
    return ingest(
        args.corpus,
        args.inputs,
        rules,
        processes=args.processes,
        again=args.again,
        progress=progress,
    )


def _tokenizer(args: argparse.Namespace, progress: Progress) -> dict:
    from worker_client.corpus.tokenizer import train_tokenizer

    return train_tokenizer(
        args.corpus,
        vocabulary=args.vocabulary,
        budget=args.budget_mb * 10**6,
        held_out=args.held_out,
        again=args.again,
        progress=progress,
    )


def _pack(args: argparse.Namespace, progress: Progress) -> dict:
    from worker_client.corpus.pack import Packing, pack
    from worker_client.corpus.tokenizer import tokenizer_file
    from worker_client.corpus.vocabulary import Vocabulary

    tokenizer, name = args.tokenizer, args.format and args.format.id
    if tokenizer is None and (name is None or not hasattr(args.format, "base_model")):
        tokenizer = tokenizer_file(args.corpus)
    vocabulary = Vocabulary(tokenizer, name, args.models_dir)
    return pack(
        args.corpus,
        Packing(vocabulary, args.seq, args.held_out, args.seed),
        processes=args.processes,
        again=args.again,
        progress=progress,
    )


def _shard(args: argparse.Namespace, progress: Progress) -> dict:
    from worker_client.corpus.shard import shard

    return shard(
        args.corpus,
        args.out,
        args.shards,
        by_language=args.by_language,
        source=args.source,
        licence=args.licence,
        processes=args.processes,
        again=args.again,
        progress=progress,
    )
