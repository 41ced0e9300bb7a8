"""Argument types and parser set-up that several commands share."""

import argparse
import re
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from worker_client.contract.formats import (
    AdapterFormat,
    Format,
    UnknownFormat,
    known_formats,
    load_format,
)
from worker_client.contract.wire import WorkerName

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)B?", re.IGNORECASE)
_FACTOR = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def new_parser(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    summary: str,
    example: str,
) -> argparse.ArgumentParser:
    """A sub-command's parser whose ``--help`` ends with an example."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n  python -m worker_client {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def format_argument(text: str) -> Format:
    """A format by its id."""
    try:
        return load_format(text)
    except UnknownFormat as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "format",
        metavar="FORMAT",
        type=format_argument,
        help=f"one of {', '.join(known_formats())}",
    )


def add_base_format(parser: argparse.ArgumentParser) -> None:
    """A format that has a base model."""
    known = [name for name in known_formats() if isinstance(load_format(name), AdapterFormat)]
    parser.add_argument(
        "format",
        metavar="FORMAT",
        type=base_format_argument,
        help=f"one of {', '.join(known)}",
    )


def base_format_argument(text: str) -> AdapterFormat:
    fmt = format_argument(text)
    if not isinstance(fmt, AdapterFormat):
        raise argparse.ArgumentTypeError(f"{text} starts from nothing: it has no base model")
    return fmt


def add_tokenizer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer",
        type=Path,
        metavar="FILE",
        help="the run's tokenizer.json, for a model from scratch",
    )


def add_models_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--models-dir",
        metavar="DIR",
        help="where base models lie (default: MODELEN_MODELS_DIR, else this platform's place)",
    )


def add_coordinator(parser: argparse.ArgumentParser) -> None:
    """Its address, and where this computer keeps what it knows of it."""
    parser.add_argument("url", metavar="URL", help="the coordinator's address")
    parser.add_argument(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help="what must outlive a restart (default: MODELEN_STATE_DIR, else this platform's place)",
    )
    parser.add_argument(
        "--allow-http", action="store_true", help="accept plain http beyond this computer"
    )


def name_argument(text: str) -> str:
    """A pseudonym as the protocol allows it."""
    try:
        return TypeAdapter(WorkerName).validate_python(text)
    except ValidationError:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no pseudonym: use 3 to 32 of a-z 0-9 - _"
        ) from None


def size_argument(text: str) -> int:
    """Bytes from ``500M``, ``20GB``, ``1000000``."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it like 500M or 20G")
    return int(float(found[1]) * _FACTOR[found[2].upper()])


def positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def positive_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def seed_argument(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**53:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; it must be 0 to 2^53 - 1")
    return int(text)


def seq_argument(text: str) -> int:
    if not text.isdecimal() or not 8 <= int(text) <= 8192:
        raise argparse.ArgumentTypeError(f"{text!r} tokens is no row; it must be 8 to 8192")
    return int(text)
