"""An experiment that takes a second a cell: two made-up languages and the tiniest model."""

import json
import random
from pathlib import Path
from typing import Any

from modelen_site.experiments.plan import Plan

ALPHABETS = {"aa": "abcdefgh", "bb": "stuvwxyz"}
DOCUMENTS, WORDS = 60, 40


def write_text(folder: Path) -> Path:
    """Documents of words that only their language has; the same on every call."""
    folder.mkdir()
    for language, letters in ALPHABETS.items():
        draw = random.Random(language)
        words = ["".join(draw.choices(letters, k=4)) for _ in range(50)]
        lines = (
            json.dumps({"text": " ".join(draw.choices(words, k=WORDS))}) for _ in range(DOCUMENTS)
        )
        (folder / f"{language}.jsonl").write_text("\n".join(lines), "utf-8")
    return folder


def described(**fields: Any) -> dict[str, Any]:
    """What an experiment's file says, beside a folder ``text``."""
    return {
        "name": "small",
        "title": "Small",
        "format": "scratch-tiny",
        "seq_len": 32,
        "batch_size": 2,
        "tokens": 1024,
        "seeds": [0],
        "learning_rates": [1e-2],
        "points": 2,
        "text": {"source": "text", "languages": list(ALPHABETS), "held_out_rows": 4},
        "arms": [{"name": "DiLoCo", "kind": "diloco", "clients": [2], "inner_steps": [4]}],
    } | fields


def make_plan(**fields: Any) -> Plan:
    return Plan.model_validate(described(**fields))


def as_toml(fields: dict[str, Any]) -> str:
    """TOML of what ``described`` gives: JSON's values are TOML's, tables written inline."""
    return "".join(f"{name} = {_value(value)}\n" for name, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_value(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)
