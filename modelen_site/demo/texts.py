"""What the demo trains on and what it is judged by, as text files; nothing of it is committed."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from modelen_site.demo import catalogues, columns
from worker_client.models.errors import ModelError
from worker_client.models.progress import Progress

# 17 of the 98 columns.
HELD_OUT_SHARE = 0.175
# The beginnings of many documents say more than a few whole ones, at the same cost: all 17
# columns whole would take minutes to score on two cores.
TURKISH_BYTES, ENGLISH_BYTES = 6_000, 5_000


@dataclass(frozen=True)
class Texts:
    """``train`` is a folder; ``turkish`` and ``english`` are the held-out documents.

    ``fallback`` says why the first choice of text could not be had, else it is empty.
    """

    source: str
    licence: str
    train: Path
    turkish: list[str]
    english: list[str]
    fallback: str = ""


def prepare_texts(folder: Path, cache: Path, progress: Progress) -> Texts:
    """Get the text, split it by document, and write the training part into ``folder``."""
    messages = catalogues.read_messages()
    english = [" ".join(_until(by_digest(m.english for m in messages), ENGLISH_BYTES))]
    try:
        found = columns.fetch_columns(cache, progress)
    except ModelError as error:
        documents = {m.translation: [m.translation] for m in messages}
        source, licence, why = catalogues.SOURCE, catalogues.LICENCE, str(error)
    else:
        documents, source, licence, why = found, columns.SOURCE, columns.LICENCE, ""
    held_out, train = split(documents)
    each = TURKISH_BYTES // len(held_out)
    turkish = [" ".join(_until(documents[name], each)) for name in held_out]
    _write(folder, [" ".join(documents[name]) for name in train])
    return Texts(source, licence, folder, turkish, english, why)


def split(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Held-out and training documents, the same ones on every machine."""
    ordered = by_digest(names)
    count = max(1, round(HELD_OUT_SHARE * len(ordered)))
    return ordered[:count], ordered[count:]


def by_digest(texts: Iterable[str]) -> list[str]:
    """In an order that is fixed but has nothing to do with what the texts say."""
    return sorted(set(texts), key=lambda text: hashlib.sha256(text.encode()).digest())


def _until(sentences: Iterable[str], size: int) -> list[str]:
    """The first sentences, whole ones, that make up at least ``size`` bytes of UTF-8."""
    taken: list[str] = []
    for sentence in sentences:
        if sum(len(text.encode()) for text in taken) >= size:
            break
        taken.append(sentence)
    return taken


def _write(folder: Path, documents: list[str]) -> None:
    folder.mkdir(parents=True)
    for number, document in enumerate(documents):
        (folder / f"{number:04d}.txt").write_text(document, "utf-8")
