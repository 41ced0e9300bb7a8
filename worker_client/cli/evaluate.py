"""``evaluate``: held-out loss, bits per byte and summaries of a base model, adapter or model."""

import argparse
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
from worker_client.cli.progress import bars
from worker_client.cli.tables import evaluation_table

if TYPE_CHECKING:
    from worker_client.evaluation.evaluate import Score
    from worker_client.evaluation.languages import LanguageScores
    from worker_client.evaluation.summaries import SummaryScore
    from worker_client.models.progress import Progress


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "evaluate",
        "measure loss, perplexity and bits per byte on held-out text, or ROUGE of summaries",
        "evaluate qwen3-0.6b-lora-r16 --adapter snapshot.safetensors --text held-out.txt",
    )
    add_format(parser)
    parser.add_argument(
        "--snapshot", "--adapter", type=Path, metavar="FILE", help="default: the base model alone"
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--text",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="UTF-8 text, or .jsonl of articles, which are scored by language",
    )
    source.add_argument("--shard", type=Path, nargs="+", metavar="FILE", help="shards")
    source.add_argument(
        "--summaries",
        type=Path,
        metavar="FILE",
        help=".jsonl of articles with body and summary: have the model summarise them, and compare "
        "by ROUGE with their summaries and with their first three sentences",
    )
    parser.add_argument(
        "--seq",
        type=seq_argument,
        default=512,
        help="tokens per row of the shards, or of article and summary together (default: 512)",
    )
    parser.add_argument("--mode", choices=("cpt", "sft"), default="cpt", help="of the shards")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=positive_int, metavar="N", help="CPU threads")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_tokenizer(parser)
    add_models_dir(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.data.errors import DataError
    from worker_client.evaluation.errors import LibraryMissing
    from worker_client.models.errors import ModelError
    from worker_client.training.errors import TrainingError

    try:
        with bars() as progress:
            score = _score(args, progress)
    except (DataError, LibraryMissing, ModelError, TrainingError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    if args.json:
        print(json.dumps(score.to_json()))
    else:
        print(evaluation_table(score.to_json()))
    return Exit.OK


def _score(
    args: argparse.Namespace, progress: "Progress"
) -> "LanguageScores | Score | SummaryScore":
    from worker_client.data.documents import read_by_language, read_summarised
    from worker_client.evaluation.evaluate import Evaluator
    from worker_client.evaluation.languages import score_languages
    from worker_client.evaluation.summaries import score_summaries
    from worker_client.models.store import ModelStore

    articles = list(read_summarised(args.summaries)) if args.summaries else []
    texts = read_by_language(args.text or [])
    store = ModelStore(args.models_dir)
    evaluator = Evaluator(
        args.format, store, device=args.device, threads=args.threads, tokenizer=args.tokenizer
    )
    evaluator.use(args.snapshot)
    if articles:
        return score_summaries(evaluator, articles, seq_len=args.seq, progress=progress)
    if args.text:
        return score_languages(evaluator, texts, progress)
    return evaluator.score_shards(args.shard, seq_len=args.seq, mode=args.mode, progress=progress)
