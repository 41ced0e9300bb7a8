"""Create a run with its first snapshot and, if it serves data, its shards."""

import json
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from coordination.child import run_worker_client, tokenizer_option
from coordination.models import Run
from coordination.preparing.store import RawText
from coordination.rounds.create import create_run
from worker_client.contract.corpora import CorpusDescription
from worker_client.contract.encodings import CODECS
from worker_client.contract.recipe import RECIPES

# Settings of a run that are plain fields: option, field, type.
NUMBERS = (
    ("--rounds", "rounds", int, "how many rounds"),
    ("--ic-adim", "inner_steps", int, "H: inner steps of a task (default 20)"),
    ("--bs", "batch_size", int, "sequences per inner step (default 4)"),
    ("--seq", "seq_len", int, "tokens per sequence (default 512)"),
    ("--lr", "lr", float, "peak learning rate (default 2e-4)"),
    ("--tohum", "seed", int, "the run's seed (default 0)"),
    (
        "--units-per-round",
        "units_per_round",
        int,
        "shards trained in a round (default: all)",
    ),
    (
        "--target",
        "target_results",
        int,
        "results that close a round (default: one per unit)",
    ),
    (
        "--min-results",
        "min_results",
        int,
        "results that suffice at the deadline (default 1)",
    ),
    ("--round-seconds", "round_seconds", int, "a round's deadline (default 3600)"),
    (
        "--lease-seconds",
        "lease_seconds",
        int,
        "a lease without news ends after (default 600)",
    ),
    (
        "--lease-max-seconds",
        "lease_max_seconds",
        int,
        "a lease ends at the latest (default 6 h)",
    ),
    (
        "--leases-per-worker",
        "max_leases_per_worker",
        int,
        "tasks one worker may hold (default 1)",
    ),
    (
        "--leases-per-address",
        "max_leases_per_address",
        int,
        "one address may hold (default 16)",
    ),
    (
        "--unregistered-per-address",
        "max_unregistered_per_address",
        int,
        "tasks of workers without a token from one address (default 8)",
    ),
    (
        "--proven-after",
        "proven_after",
        int,
        "valid checks in a row that prove a worker (default 10)",
    ),
    ("--check-floor", "check_floor", float, "least share of checked results (default 0.1)"),
    ("--quorum", "quorum", int, "results after which a round waits for a grace period only"),
    (
        "--grace-factor",
        "grace_factor",
        float,
        "the grace ends so many median deviations after the median arrival (default 5)",
    ),
    (
        "--backup-seconds",
        "backup_seconds",
        int,
        "so long before the deadline a task in work is leased again (default: a quarter of the "
        "round; 0: never)",
    ),
    (
        "--byzantine-share",
        "byzantine_share",
        float,
        "part of a round's results that may be hostile, 0 to 0.49 (default 0.3)",
    ),
    ("--outer-lr", "outer_lr", float, "learning rate of the outer optimiser (default 1.0)"),
    (
        "--outer-momentum",
        "outer_momentum",
        float,
        "Nesterov's momentum, or beta1 of adam and yogi (default 0.5)",
    ),
    ("--outer-beta2", "outer_beta2", float, "beta2 of adam and yogi (default 0.99)"),
    ("--outer-tau", "outer_tau", float, "tau of adam and yogi (default 1e-3)"),
    ("--chunk-bytes", "chunk_bytes", int, "size of a transfer chunk (default 1 MiB)"),
    ("--keep-snapshots", "keep_snapshots", int, "snapshots kept (default 10)"),
)
DOWNLINKS = [name for name in Run.Encoding.values if name != Run.Encoding.RAW]
CHOICES = (
    (
        "--rule",
        "rule",
        Run.Rule.values,
        "how results are merged (default multi_krum; mean where nobody can verify)",
    ),
    ("--recete", "recipe", RECIPES, "how volunteers train (default v1)"),
    ("--outer", "outer", Run.OuterOptimiser.values, "the outer optimiser (default nesterov)"),
    ("--kodlama", "encoding", Run.Encoding.values, "how results travel (default ham: whole)"),
    ("--fark", "downlink", DOWNLINKS, "compress updates so for workers (default: whole snapshots)"),
)
SWITCHES = (
    ("--clip-norms", "clip_norms", "shorten updates to the round's median norm first"),
    (
        "--show-corpus",
        "corpus_public",
        "let everybody see what the text is made of, with samples; not in a closed run",
    ),
    ("--exact-lora", "exact_lora", "average the products of LoRA's factors, not the factors"),
)
TEXTS = (
    ("--description", "description", "what the run is for"),
    ("--data-licence", "data_licence", "licence of the training data"),
    ("--data-source", "data_source", "where the training data is from"),
    ("--contact", "contact", "how to reach you"),
    ("--min-worker-version", "min_worker_version", "oldest worker version welcome"),
)


class Command(BaseCommand):
    help = (
        "Create a run. Example: manage.py create_run tr-columns --format smollm2-135m-lora-r16 "
        "--rounds 50 --data var/shards --lr 5e-4"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="address of the run: it is served at /c/SLUG")
        parser.add_argument("--name", help="its title (default: the slug)")
        parser.add_argument("--format", default="qwen3-0.6b-lora-r16", help="tensor manifest id")
        parser.add_argument("--mod", dest="mode", choices=Run.Mode.values, default=Run.Mode.CPT)
        _add_text(parser)
        parser.add_argument(
            "--no-verify",
            dest="verify",
            action="store_false",
            help="do not have results repeated by other workers",
        )
        parser.add_argument(
            "--trust-weights",
            action="store_true",
            help="results that nobody has repeated weigh less in the merge",
        )
        parser.add_argument("--hold", action="store_true", help="create it without opening it")
        parser.add_argument(
            "--start-from",
            type=Path,
            metavar="FILE",
            help="snapshot of the same format that the run goes on from, such as another run's "
            "last (default: random weights)",
        )
        parser.add_argument(
            "--closed",
            dest="open_to_all",
            action="store_false",
            help="only workers that you approve may take part",
        )
        for option, field, kind, text in NUMBERS:
            parser.add_argument(option, dest=field, type=kind, help=text)
        for option, field, kinds, text in CHOICES:
            parser.add_argument(option, dest=field, choices=kinds, help=text)
        for option, field, text in SWITCHES:
            parser.add_argument(option, dest=field, action="store_const", const=True, help=text)
        for option, field, text in TEXTS:
            parser.add_argument(option, dest=field, help=text)

    def handle(self, *args: object, **options: Any) -> None:
        run = run_from_options(options)
        shards = shard_files(options["data"], run) if options["data"] else []
        held_out = held_out_files(options["heldout"], options["data"])
        with tempfile.TemporaryDirectory() as folder:
            snapshot = Path(folder) / "snapshot-1.safetensors"
            raw = raw_text(run, options) if options["raw"] else None
            run_worker_client(
                "init-snapshot", run.format, *start_option(run, options), "--out", str(snapshot)
            )
            try:
                start = not options["hold"]
                create_run(run, snapshot, shards, held_out=held_out, raw=raw, start=start)
            except ValidationError as error:
                raise CommandError("; ".join(_sentences(error))) from None
        chunks = f"{run.chunk_set.count()} chunks of text to prepare, " if raw else ""
        self.stdout.write(
            f"{run.slug}: {run.get_state_display()}, {chunks}{run.shards} shards, at /c/{run.slug}"
        )


def run_from_options(options: dict) -> Run:
    """An unsaved run; what was not given keeps the model's default or follows the shards."""
    names = [row[1] for row in (*NUMBERS, *CHOICES, *SWITCHES, *TEXTS)]
    given = {name: options[name] for name in names if options.get(name) is not None}
    shards = options["shards"]
    if options["raw"] and (options["data"] or options["hold"]):
        raise CommandError("--raw goes with neither --data nor --hold")
    if options["data"]:
        shards = len(_report(options["data"])["shards"])
    if not shards:
        raise CommandError("say which data to serve with --data, or how many shards with --n-parca")
    if "rounds" not in given:
        raise CommandError("say how many rounds with --rounds")
    given.setdefault("units_per_round", shards)
    given.setdefault("target_results", given["units_per_round"])
    if not _can_be_verified(options):
        # Nobody can tell a shard of another kind from a hostile one: see docs/robustness.md.
        given.setdefault("rule", Run.Rule.MEAN)
    slug = options["slug"]
    return Run(
        slug=slug,
        name=options["name"] or slug,
        format=options["format"],
        mode=options["mode"],
        verify=options["verify"],
        trust_weights=options["trust_weights"],
        open_to_all=options["open_to_all"],
        shards=shards,
        **given,
    )


def start_option(run: Run, options: dict) -> tuple[str, str]:
    """What round 1 starts from."""
    if options["start_from"]:
        return "--from", str(options["start_from"].resolve())
    return "--seed", str(run.seed)


def _can_be_verified(options: dict) -> bool:
    """Whether somebody else can repeat a result: its data is served, and its encoding leaves
    nothing behind in its worker."""
    codec = CODECS.get(options["encoding"] or "")
    served = options["data"] or options["raw"]
    return bool(served and options["verify"]) and not (codec and codec.feeds_back)


def raw_text(run: Run, options: dict) -> RawText:
    """Checked as far as volunteers' programs would."""
    told = run_worker_client(
        "chunks", "tokenizer", run.format, *tokenizer_option(options["tokenizer"])
    )
    languages = tuple(sorted(filter(None, options["languages"].split(","))))
    return RawText(options["raw"], Path(told["file"]), languages)


def shard_files(folder: Path, run: Run) -> list[Path]:
    report = _report(folder)
    run.data_licence = run.data_licence or report.get("licence", "")
    run.data_source = run.data_source or report.get("source", "")
    run.corpus = _corpus(folder, report)
    return [folder / row["file"] for row in report["shards"]]


def held_out_files(folders: list[Path], data: Path | None) -> dict[str, Path]:
    """By language: those named, or else those that came with the shards."""
    if folders or data is None:
        return {folder.resolve().name: held_out_file(folder) for folder in folders}
    return {row["language"]: data / row["file"] for row in _report(data).get("held_out", [])}


def held_out_file(folder: Path) -> Path:
    files = [folder / row["file"] for row in _report(folder)["shards"]]
    if len(files) != 1:
        raise CommandError(f"{folder} holds {len(files)} shards; make it with --shards 1")
    return files[0]


def _corpus(folder: Path, report: dict) -> dict:
    if not report.get("corpus"):
        return {}
    try:
        return CorpusDescription.model_validate(report["corpus"]).model_dump()
    except ValueError as error:
        raise CommandError(f"{folder}/shards.json describes its corpus badly: {error}") from None


def _report(folder: Path) -> dict:
    try:
        return json.loads((folder / "shards.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{folder} holds no shards.json ({error}); make it with shard_text or corpus shard"
        ) from None


def _sentences(error: ValidationError) -> list[str]:
    if hasattr(error, "error_dict"):
        return [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
    return list(error.messages)


def _add_text(parser: ArgumentParser) -> None:
    """What is trained on and what is held out."""
    parser.add_argument("--data", type=Path, help="folder that shard_text or corpus shard made")
    parser.add_argument(
        "--raw",
        nargs="+",
        type=Path,
        metavar="PATH",
        help=".jsonl files of articles, or folders of such, that volunteers whom you let see "
        "them prepare: the run begins with as many shards as --shards says when that is done",
    )
    parser.add_argument(
        "--tokenizer",
        type=Path,
        metavar="FILE",
        help="tokenizer.json for --raw; only a model from scratch needs it named",
    )
    parser.add_argument(
        "--languages", default="", metavar="LIST", help="of --raw keep these only, as de,tr"
    )
    parser.add_argument(
        "--heldout",
        nargs="+",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="text that nobody trains on, one folder a language, each named after its language "
        "and made by shard_text with --shards 1; volunteers measure each snapshot on it; "
        "default: what corpus shard put beside the shards",
    )
    parser.add_argument(
        "--n-parca",
        "--shards",
        dest="shards",
        type=int,
        help="number of shards when no --data is served, or to make of --raw",
    )
