"""Reports as aligned text for people."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from worker_client.data.article import UNKNOWN


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


def evaluation_table(found: dict) -> str:
    """What ``evaluate`` found: of text, or of summaries."""
    return "\n".join(_summaries(found) if "lead_3" in found else _text(found))


def _text(found: dict) -> Iterator[str]:
    languages = found.get("languages", {})
    if set(languages) - {UNKNOWN}:
        yield table(
            ("language", "bits per byte", "perplexity", "nats per token", "tokens", "bytes"),
            [
                (
                    name,
                    *(f"{row['bits_per_byte']:.4f}", f"{row['perplexity']:.2f}"),
                    *(f"{row['loss']:.4f}", row["tokens"], row["bytes"]),
                )
                for name, row in languages.items()
            ],
        )
    yield (
        f"{found['bits_per_byte']:.4f} bits per byte, perplexity {found['perplexity']:.2f}, "
        f"{found['loss']:.4f} nats per token ({found['tokens']} tokens, {found['bytes']} bytes)"
    )


def _summaries(found: dict) -> Iterator[str]:
    sides = {"model": "model", "lead_3": "first three sentences", "difference": "difference"}
    yield table(
        ("F-measure, 95 % confidence", *sides.values()),
        [(kind, *(_interval(found[side][kind]) for side in sides)) for kind in found["model"]],
    )
    yield (
        f"{found['articles']} articles; the model wrote {found['words']} words each, their own "
        f"summaries have {found['reference_words']}"
    )


def _interval(values: dict) -> str:
    return f"{values['mean']:.3f} [{values['low']:.3f}, {values['high']:.3f}]"
