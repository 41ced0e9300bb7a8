"""Text of an experiment: split by document, tokenised, and dealt out to clients."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from modelen_site.demo import catalogues
from modelen_site.experiments.plan import (
    CATALOGUES,
    Division,
    Plan,
    PlanRefused,
    Setting,
    Text,
)
from worker_client.contract.formats import load_format
from worker_client.data.documents import read_texts
from worker_client.data.errors import DataError
from worker_client.data.make import LIST_FILE
from worker_client.data.pack import Counts, pack_texts
from worker_client.data.write import shard_name, write_shard
from worker_client.models.load import TextCodec, read_codec
from worker_client.models.progress import Progress, silent
from worker_client.models.seeded_base import tokenizer_json

# Of ten documents one is validated on and one tested on.
ONE_IN, VALIDATION, TEST = 10, 0, 1
SUFFIXES = (".jsonl", ".txt", "")

Documents = Mapping[str, Sequence[str]]


class Rows(NamedTuple):
    """Rows of one language, int32 ``[n, seq]`` each."""

    validation: np.ndarray
    test: np.ndarray
    train: np.ndarray


@dataclass(frozen=True)
class Texts:
    """Files in ``folder``: held-out rows of all languages to validate on, of each to test on, and
    the shards of every division that the plan has. ``train_tokens`` are those of all shards."""

    folder: Path
    tokenizer: Path
    validation: Path
    test: dict[str, Path]
    train_tokens: int

    def shards(self, clients: int, division: Division) -> list[Path]:
        """A file for each client."""
        return sorted(shard_folder(self.folder, clients, division).glob("*.safetensors"))


def shard_folder(folder: Path, clients: int, division: Division) -> Path:
    return folder / f"{division}-{clients}"


def read_documents(text: Text, beside: Path) -> dict[str, list[str]]:
    """Each language's documents once, in an order that says nothing. A folder that the plan names
    is looked for in ``beside``.

    Raises:
        PlanRefused: the text cannot be read.
    """
    return {language: _by_digest(_read(text, language, beside)) for language in text.languages}


def digest_of(documents: Documents) -> str:
    """SHA-256 over all documents, in order, each ended by a zero byte."""
    digest = hashlib.sha256()
    for language, texts in documents.items():
        for text in (language, *texts):
            digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def prepare_texts(
    plan: Plan, documents: Documents, folder: Path, progress: Progress = silent
) -> Texts:
    """Tokenise, split and deal out, whatever of it is not in ``folder`` yet. The same plan and
    documents give the same bytes.

    Raises:
        PlanRefused: too little text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.exists():
        _write_tokenizer(tokenizer, plan.text.vocabulary, documents)
    codec = read_codec(tokenizer, load_format(plan.format).vocab_size)
    split = _split_once(plan, documents, codec, folder / "rows.npz", progress)
    _demand_enough(split, plan)
    held, least = plan.text.held_out_rows, min(len(rows.train) for rows in split.values())
    train = [rows.train[:least] for rows in split.values()]
    for clients, division in {_division(plan, setting) for setting in plan.settings}:
        target = shard_folder(folder, clients, division)
        if not (target / LIST_FILE).exists():
            _write_shards(target, divide(train, clients, division), codec)
    validation = np.concatenate([rows.validation[:held] for rows in split.values()])
    return Texts(
        folder=folder,
        tokenizer=tokenizer,
        validation=_write_held_out(folder / "validation", validation, codec),
        test={
            language: _write_held_out(folder / f"test-{language}", rows.test[:held], codec)
            for language, rows in split.items()
        },
        train_tokens=least * len(train) * plan.seq_len,
    )


def _write_shards(folder: Path, parts: Sequence[np.ndarray], codec: TextCodec) -> None:
    """With the list of them that ``create_run`` reads."""
    folder.mkdir(exist_ok=True)
    files = [
        write_shard(folder / shard_name(number), rows[:, None], codec.sha256)
        for number, rows in enumerate(parts)
    ]
    listed = {"shards": [asdict(file) for file in files]}
    with whole_file(folder / LIST_FILE) as draft:
        draft.write_text(json.dumps(listed, indent=1) + "\n", "utf-8")


def _split_once(
    plan: Plan, documents: Documents, codec: TextCodec, kept: Path, progress: Progress
) -> dict[str, Rows]:
    """Tokenising a large text takes minutes, which a grid that goes on need not wait for."""
    if not kept.exists():
        split = {}
        for done, (language, texts) in enumerate(documents.items()):
            progress("tokenise", done, len(documents), "language")
            split[language] = _split(texts, codec, plan)
        named = {f"{a}-{b}": rows for a, of in split.items() for b, rows in of._asdict().items()}
        with whole_file(kept) as draft, draft.open("wb") as file:
            np.savez(file, **named)
    with np.load(kept) as found:
        return {
            language: Rows(*(found[f"{language}-{part}"] for part in Rows._fields))
            for language in documents
        }


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A draft to write, which then takes the place of ``path``: nobody finds half of it there."""
    draft = path.with_name(f"{path.name}.part")
    yield draft
    draft.replace(path)


def part_of(text: str) -> int:
    """0 to 9: in which tenth of all documents one is, by its digest."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % ONE_IN


def divide(languages: Sequence[np.ndarray], clients: int, division: Division) -> list[np.ndarray]:
    """Rows of each client, as many for each; the few that do not divide evenly are left out.

    ``languages``: rows ``[n, seq]`` of each, as many for each. ``equal``: all clients have the same
    mixture. ``language``: client i has language i modulo their number, shared with others of the
    same, or where clients are fewer every so-many-th language from i on.
    """
    groups = 1 if division == "equal" else min(clients, len(languages))
    sharing = clients // groups
    each = len(languages[0]) // sharing
    return [
        _interleave([rows[client // groups :: sharing][:each] for rows in languages[group::groups]])
        for client in range(clients)
        for group in [client % groups]
    ]


def _interleave(languages: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(languages, axis=1).reshape(-1, languages[0].shape[1])


def _division(plan: Plan, setting: Setting) -> tuple[int, Division]:
    return plan.work(setting).workers, setting.division


def _by_digest(texts: set[str]) -> list[str]:
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())


def _read(text: Text, language: str, beside: Path) -> set[str]:
    if text.source == CATALOGUES:
        return {message.translation for message in catalogues.read_all(language)}
    return set(_read_folder(beside / text.source, language))


def _read_folder(folder: Path, language: str) -> Iterator[str]:
    existing = [path for suffix in SUFFIXES if (path := folder / f"{language}{suffix}").exists()]
    if not existing:
        raise PlanRefused(f"text.source: {folder} has no {language}.jsonl, .txt or folder")
    try:
        yield from read_texts(existing)
    except DataError as error:
        raise PlanRefused(f"text.source: {error}") from None


def _write_tokenizer(path: Path, vocabulary: int | None, documents: Documents) -> None:
    """Of ``vocabulary`` tokens, made from what is trained on; without one, of single bytes."""
    every = (text for texts in documents.values() for text in texts if part_of(text) > TEST)
    with whole_file(path) as draft:
        draft.write_text(_learned(every, vocabulary) if vocabulary else tokenizer_json(), "utf-8")


def _learned(texts: Iterator[str], vocabulary: int) -> str:
    from tokenizers import pre_tokenizers

    from worker_client.corpus.tokenizer import train_bpe

    return train_bpe(texts, vocabulary, pre_tokenizers.ByteLevel(add_prefix_space=False))


def _split(documents: Sequence[str], codec: TextCodec, plan: Plan) -> Rows:
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for text in documents:
        parts[min(part_of(text), TEST + 1)].append(text)
    return Rows(*(_pack(texts, codec, plan.seq_len) for texts in parts))


def _pack(texts: Sequence[str], codec: TextCodec, seq_len: int) -> np.ndarray:
    rows = list(pack_texts(texts, codec, seq_len, Counts()))
    return np.concatenate(rows) if rows else np.empty((0, seq_len), np.int32)


def _demand_enough(split: Mapping[str, Rows], plan: Plan) -> None:
    wanted = plan.text.held_out_rows
    most = max(setting.clients for setting in plan.settings)
    for language, rows in split.items():
        held = min(len(rows.validation), len(rows.test))
        if held < wanted or len(rows.train) < most:
            raise PlanRefused(
                f"the text in {language} makes {len(rows.train)} rows to train on and {held} held "
                f"out, and {most} and {wanted} are needed: give more text, or a smaller seq_len or "
                "held_out_rows"
            )


def _write_held_out(folder: Path, rows: np.ndarray, codec: TextCodec) -> Path:
    folder.mkdir(exist_ok=True)
    return folder / write_shard(folder / shard_name(0), rows[:, None], codec.sha256).file
