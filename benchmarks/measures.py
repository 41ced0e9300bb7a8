"""What losses say of honest and of forged results that nobody can repeat.

    python -m benchmarks.measures [--rounds 4]

A model from scratch is trained in ``topk`` by honest volunteers, once with shards that are alike
and once with one language each. Every result, and forgeries of it, are scored as the job ``olc``
does. The bars: every honest result is plausible by ``coordination/verification/gains.py``, and no
turned sign, noise or idleness is.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.table import Bar, judge, print_table
from coordination.verification.gains import LEAST_OWN_GAIN, MOST_HARM, Gains
from modelen_site.demo.catalogues import read_all
from worker_client.contract.encodings import CHUNK, CODECS
from worker_client.contract.formats import load_format
from worker_client.data.make import make_shards
from worker_client.evaluation.task import score_task
from worker_client.models.seeded_base import tokenizer_json
from worker_client.models.store import ModelStore
from worker_client.training.device import choose_device
from worker_client.training.files import read_weights, write_weights
from worker_client.training.initial import write_initial
from worker_client.training.messages import Evaluate, Subject, Train
from worker_client.training.task import train_task
from worker_client.training.trainee import make_trainee

FORMAT, LANGUAGES, SEED, ROUNDS_PLANNED = "scratch-tiny", ("tr", "de", "fr", "ja"), 7, 10
NUMBERS = {"inner_steps": 20, "batch_size": 4, "seq_len": 128, "seed": SEED}
LR, MESSAGES_A_TEXT = 5e-3, 8
HONEST = "honest"
FORGED = ("turned", "noise", "nothing")


@dataclass(frozen=True)
class Found:
    what: str
    gains: Gains

    @property
    def own_share(self) -> float:
        """Own gain in parts of the other shard's; large where there is none of that."""
        own, other = self.gains.own or 0.0, self.gains.other or 0.0
        return own / other if other > 0 else float("inf")


class Laboratory:
    """Four shards and a held-out one, a model, and what each volunteer's deltas left out."""

    def __init__(self, folder: Path, texts: list[list[str]]) -> None:
        self.folder, self.format = folder, load_format(FORMAT)
        tokenizer = folder / "tokenizer.json"
        tokenizer.write_text(tokenizer_json(), "utf-8")
        self.held_out = self._shards("held-out", [text[:20] for text in texts], 1, tokenizer)[0]
        if len(texts) == 1:
            self.shards = self._shards("shards", [texts[0][20:]], len(LANGUAGES), tokenizer)
        else:
            parts = ([text[20:]] for text in texts)
            self.shards = [
                self._shards(f"shard-{i}", part, 1, tokenizer)[0] for i, part in enumerate(parts)
            ]
        self.trainee = make_trainee(
            self.format, ModelStore(), choose_device("cpu", "float32", torch.get_num_threads())
        )
        self.start = folder / "start.safetensors"
        write_initial(self.format, SEED, self.start)
        self.left = np.zeros((len(self.shards), self.format.parameters), "<f4")

    def _shards(self, name: str, texts: list[list[str]], count: int, tokenizer: Path) -> list[Path]:
        source, out = self.folder / f"{name}-text", self.folder / name
        source.mkdir()
        for number, text in enumerate(text for part in texts for text in part):
            (source / f"{number:05}.txt").write_text(text, "utf-8")
        numbers = {"mode": "cpt", "seq_len": NUMBERS["seq_len"], "shards": count}
        make_shards(
            self.format,
            ModelStore(),
            [source],
            out,
            tokenizer=tokenizer,
            **numbers,  # type: ignore[arg-type]
        )
        return sorted(out.glob("*.safetensors"))

    def train(self, number: int, shard: int) -> np.ndarray:
        """The delta that the shard's volunteer sends in round ``number``, as it is decoded."""
        out = self.folder / "result.safetensors"
        command = Train(
            lease_id="bench",
            round=number,
            rounds=ROUNDS_PLANNED,
            lr=LR,
            shard=shard,
            mode="cpt",
            snapshot=str(self.start),
            data=str(self.shards[shard]),
            out=str(out),
            **NUMBERS,
        )
        train_task(self.trainee, command, lambda step: None)
        whole = self._read(out) - self._read(self.start) + self.left[shard]
        sent = _sent(whole)
        self.left[shard] = whole - sent
        return sent

    def gains(self, number: int, shard: int, other: int, delta: np.ndarray) -> Gains:
        after = self._write("candidate", self._read(self.start) + delta)
        data = ((self.held_out, None), *((self.shards[i], i) for i in (shard, other)))
        subjects = [
            Subject(weights=str(weights), data=str(path), shard=index)
            for path, index in data
            for weights in (self.start, after)
        ]
        command = Evaluate(lease_id="bench", round=number, mode="cpt", subjects=subjects, **NUMBERS)
        return Gains.of(score_task(self.trainee, command, lambda step: None).losses)

    def advance(self, deltas: Sequence[np.ndarray]) -> None:
        self.start = self._write("start", self._read(self.start) + np.mean(deltas, axis=0))

    def _read(self, path: Path) -> np.ndarray:
        tensors = read_weights(path, self.format)
        return np.concatenate([tensors[spec.name].reshape(-1) for spec in self.format.tensors])

    def _write(self, name: str, values: np.ndarray) -> Path:
        ends = np.cumsum([spec.count for spec in self.format.tensors])
        tensors = {
            spec.name: values[end - spec.count : end].reshape(spec.shape)
            for spec, end in zip(self.format.tensors, ends, strict=True)
        }
        path = self.folder / f"{name}.safetensors"
        return write_weights(path, self.format, tensors, {"format": "pt"}).path


def _sent(delta: np.ndarray) -> np.ndarray:
    codec, out = CODECS["topk"], np.empty_like(delta)
    for start in range(0, len(delta), CHUNK):
        codec.decode(codec.encode(delta[start : start + CHUNK]), out[start : start + CHUNK])
    return out


def _noise(delta: np.ndarray) -> np.ndarray:
    """Gaussian, of the honest update's length."""
    drawn = np.random.default_rng(SEED).standard_normal(delta.size).astype("<f4")
    return drawn * (np.linalg.norm(delta) / np.linalg.norm(drawn))


FORGERIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "turned": lambda delta: -delta,
    "noise": _noise,
    "nothing": lambda delta: 0 * delta,
    "three times as far": lambda delta: 3 * delta,
    "noise added": lambda delta: delta + _noise(delta),
}


def measure(lab: Laboratory, rounds: int, kind: str) -> list[Found]:
    """Honest results and forgeries of every round but the first, in which an untrained model
    gains by almost anything."""
    found, count = [], len(lab.shards)
    for number in range(1, rounds + 1):
        deltas = [lab.train(number, shard) for shard in range(count)]
        for shard, delta in enumerate(deltas):
            made = {name: forge(delta) for name, forge in FORGERIES.items()}
            made |= {HONEST: delta, "another shard": deltas[(shard + 1) % count]}
            other = (shard + 2) % count
            if number > 1:
                found += [
                    Found(f"{kind}: {name}", lab.gains(number, shard, other, sent))
                    for name, sent in made.items()
                ]
        lab.advance(deltas)
    return found


def _texts() -> list[list[str]]:
    """By language: messages of installed catalogues, some to a text, in a drawn order."""
    texts = []
    for language in LANGUAGES:
        messages = [message.translation for message in read_all(language)]
        random.Random(SEED).shuffle(messages)
        starts = range(0, len(messages), MESSAGES_A_TEXT)
        texts.append([" ".join(messages[start : start + MESSAGES_A_TEXT]) for start in starts])
    return texts


def _rows(found: list[Found]) -> list[list[str]]:
    rows = []
    for what in dict.fromkeys(one.what for one in found):
        some = [one for one in found if one.what == what]
        columns = (
            [one.gains.own or 0.0 for one in some],
            [one.own_share for one in some],
            [one.gains.harm for one in some],
        )
        spans = [f"{min(values):+.3f} to {max(values):+.3f}" for values in columns]
        plausible = sum(one.gains.are_plausible for one in some)
        rows.append([what, *spans, f"{plausible} of {len(some)}"])
    return rows


def bars_of(found: list[Found]) -> list[Bar]:
    honest = [one for one in found if one.what.endswith(HONEST)]
    forged = [one for one in found if one.what.endswith(FORGED)]
    return [
        Bar("least own gain an honest result needs", LEAST_OWN_GAIN, _least(honest), "of others'"),
        Bar("most harm of an honest result", max(one.gains.harm for one in honest), MOST_HARM, ""),
        Bar("plausible forgeries", sum(one.gains.are_plausible for one in forged), 0, "results"),
    ]


def _least(honest: list[Found]) -> float:
    return min(one.own_share for one in honest)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Losses before and after results")
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args(arguments)
    texts, found = _texts(), []
    mixed = [text for some in zip(*texts, strict=False) for text in some]
    for kind, parts in (("alike", [mixed]), ("languages", texts)):
        with tempfile.TemporaryDirectory(prefix="modelen-measures-") as name:
            found += measure(Laboratory(Path(name), parts), args.rounds, kind)
    columns = ["shards: result", "own gain", "in parts of others'", "harm", "plausible"]
    print_table(f"Results of {FORMAT} in topk, from round 2", columns, _rows(found))
    return judge(bars_of(found))


if __name__ == "__main__":
    sys.exit(main())
