"""A corpus as ``shards.json`` describes it."""

from typing import Any

CORPUS: dict[str, Any] = {
    "sha256": "c" * 64,
    "tokenizer": "7" * 64,
    "languages": {
        "tr": {
            "read": 1500, "kept": 1234, "characters": 5_000_000, "bytes": 5_600_000,
            "dropped": {"duplicate": 100, "near_duplicate": 60, "short": 106},
            "train": {"documents": 1222, "tokens": 1_400_000, "bytes": 5_550_000, "rows": 2734},
            "held_out": {"documents": 12, "tokens": 14_321, "bytes": 50_000, "rows": 27},
        },
        "xx": {"read": 2, "kept": 0, "characters": 0, "bytes": 0, "dropped": {"short": 2}},
    },
    "samples": [
        {"language": "tr", "title": "<b>Vapur</b>", "category": "öykü", "text": "Körfezi geçer."}
    ],
}  # fmt: skip
