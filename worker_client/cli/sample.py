"""``sample``: have a base model, adapter or whole model go on with texts."""

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
)
from worker_client.cli.progress import bars

if TYPE_CHECKING:
    from worker_client.models.progress import Progress


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "sample",
        "have a model go on with texts, by the likeliest token each",
        "sample qwen3-0.6b-lora-r16 --adapter snapshot.safetensors --prompts prompts.jsonl",
    )
    add_format(parser)
    parser.add_argument(
        "--snapshot", "--adapter", type=Path, metavar="FILE", help="default: the base model alone"
    )
    parser.add_argument(
        "--prompts",
        type=Path,
        required=True,
        metavar="FILE",
        help=".jsonl with a field text a line, or .txt as one text",
    )
    parser.add_argument(
        "--mode",
        choices=("cpt", "sft"),
        default="cpt",
        help="cpt (default): texts are to be continued; sft: they are instructions",
    )
    parser.add_argument("--tokens", type=positive_int, default=64, help="at most so many each (64)")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=positive_int, metavar="N", help="CPU threads")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_tokenizer(parser)
    add_models_dir(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.data.documents import read_texts
    from worker_client.data.errors import DataError
    from worker_client.models.errors import ModelError
    from worker_client.training.errors import TrainingError

    try:
        prompts = list(read_texts([args.prompts]))
        with bars() as progress:
            texts = _sample(args, prompts, progress)
    except (DataError, ModelError, TrainingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    if args.json:
        print(json.dumps({"texts": texts}))
    else:
        print("\n\n".join(f"{prompt}|{text}" for prompt, text in zip(prompts, texts, strict=True)))
    return Exit.OK


def _sample(args: argparse.Namespace, prompts: list[str], progress: "Progress") -> list[str]:
    from worker_client.evaluation.evaluate import Evaluator
    from worker_client.evaluation.sample import sample
    from worker_client.models.store import ModelStore

    evaluator = Evaluator(
        args.format,
        ModelStore(args.models_dir),
        device=args.device,
        threads=args.threads,
        tokenizer=args.tokenizer,
    )
    evaluator.use(args.snapshot)
    return sample(evaluator, prompts, mode=args.mode, tokens=args.tokens, progress=progress)
