"""Reports as aligned text for people."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """``rows`` under ``columns``: the first column left, the others right aligned."""
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _line(row: list[str], widths: list[int]) -> str:
    blanks = [" " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)]
    return "  ".join([row[0] + blanks[0], *map(str.__add__, blanks[1:], row[1:])]).rstrip()


def corpus_table(step: str, report: dict) -> str:
    """The report of a step of ``corpus``."""
    return "\n".join(_TABLES[step](report))


def _ingest(report: dict) -> Iterator[str]:
    languages = report["languages"]
    reasons = sorted({reason for row in languages.values() for reason in row["dropped"]})
    amounts = ("read", "kept", "characters", "bytes")
    yield table(
        ("language", *amounts, *(reason.replace("_", " ") for reason in reasons)),
        [
            (
                name,
                *(row[amount] for amount in amounts),
                *(row["dropped"].get(reason, 0) for reason in reasons),
            )
            for name, row in languages.items()
        ],
    )


def _tokenizer(report: dict) -> Iterator[str]:
    yield table(
        ("language", "tokens per word", "bytes per token", "of held-out bytes"),
        [
            (name, row["tokens_per_word"], row["bytes_per_token"], row["bytes"])
            for name, row in report["languages"].items()
        ],
    )
    yield f"{report['vocabulary']:,} tokens, sha256 {report['sha256']}"


def _pack(report: dict) -> Iterator[str]:
    amounts = ("documents", "bytes", "tokens", "rows")
    yield table(
        ("language", *amounts, *(f"held-out {amount}" for amount in amounts)),
        [
            (
                name,
                *(row.get("train", {}).get(amount, 0) for amount in amounts),
                *(row.get("held_out", {}).get(amount, 0) for amount in amounts),
            )
            for name, row in report["languages"].items()
        ],
    )
    yield f"tokenizer sha256 {report['tokenizer']}"


def _shard(report: dict) -> Iterator[str]:
    yield table(
        ("file", "language", "rows", "bytes"),
        [
            (row["file"], row.get("language", "all"), row["rows"], row["size"])
            for row in report["shards"] + report["held_out"]
        ],
    )


_TABLES = {"ingest": _ingest, "tokenizer": _tokenizer, "pack": _pack, "shard": _shard}
