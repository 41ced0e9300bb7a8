"""``python -m tests.e2e.cheat``: the worker, except that from round 2 on it sends noise.

It speaks the protocol as everybody does, and its noise is as long as an honest update, so that
no screen of norms notices. It sends noise for others' shards too when it is asked to check them.
"""

import hashlib
from pathlib import Path

import numpy as np

from worker_client.cli.main import main
from worker_client.contract.encodings import CHUNK, CODECS
from worker_client.contract.encodings.delta import delta_file
from worker_client.contract.formats import Format, load_format
from worker_client.contract.tensors import read_header
from worker_client.contract.wire import RAW_ENCODING
from worker_client.loop.trainer import Trainer
from worker_client.training.files import write_file
from worker_client.training.messages import Done, Train

HONEST_ROUNDS = 1
train = Trainer.train


def _cheating(self: Trainer, command: Train, *hooks: object) -> Done:
    done = train(self, command, *hooks)  # type: ignore[arg-type]
    if command.round <= HONEST_ROUNDS:
        return done
    if command.encoding != RAW_ENCODING:
        return _encoded_noise(load_format(self._format), command, done)
    file = Path(done.path)
    start, result = _weights(Path(command.snapshot)), _weights(file)
    drawn = np.random.default_rng(command.shard).standard_normal(result.size)
    drawn *= np.linalg.norm(result - start) / np.linalg.norm(drawn)
    body = file.read_bytes()[: -4 * result.size] + (start + drawn).astype("<f4").tobytes()
    file.write_bytes(body)
    return done.model_copy(update={"sha256": hashlib.sha256(body).hexdigest()})


def _encoded_noise(fmt: Format, command: Train, done: Done) -> Done:
    """About as large as AdamW's steps; what encoding leaves out is forgotten."""
    drawn = np.random.default_rng(command.shard).standard_normal(fmt.parameters)
    drawn *= command.lr * command.inner_steps**0.5
    codec, starts = CODECS[command.encoding], range(0, fmt.parameters, CHUNK)
    chunks = (drawn[start : start + CHUNK].astype("<f4") for start in starts)
    written = write_file(Path(done.path), delta_file(codec, fmt.parameters, chunks, {}))
    return done.model_copy(update={"sha256": written.sha256, "size": written.size})


def _weights(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        file.seek(read_header(file, path.stat().st_size).data_start)
        return np.frombuffer(file.read(), "<f4")


if __name__ == "__main__":
    Trainer.train = _cheating  # type: ignore[method-assign, assignment]
    raise SystemExit(main())
