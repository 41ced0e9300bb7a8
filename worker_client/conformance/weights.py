"""Result files made without training: the snapshot's numbers plus a little noise."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from worker_client.conformance.check import Failed
from worker_client.contract.encodings import CHUNK, Codec, encoded_bytes
from worker_client.contract.errors import Refused
from worker_client.contract.recipe import largest_update_norm
from worker_client.contract.tensors import Header, build_header, read_header

Spec = tuple[str, str, tuple[int, ...]]  # name, dtype, shape
FLOAT32 = np.dtype("<f4")
# A trained weight moves by about lr a step at most, and the limit is 4 lr.
NOISE_OF_LIMIT = 0.1


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Weights:
    """A float32 file as one vector; ``specs`` name its parts in the order of the data."""

    specs: tuple[Spec, ...]
    values: np.ndarray

    def moved(self, by: np.ndarray) -> "Weights":
        return Weights(self.specs, (self.values + by).astype(FLOAT32))

    def parts(self) -> dict[str, np.ndarray]:
        """Name to its part of the vector, flat."""
        ends = np.cumsum([int(np.prod(shape, dtype=np.int64)) for _, _, shape in self.specs])
        pieces = np.split(self.values, ends[:-1])
        return {spec[0]: piece for spec, piece in zip(self.specs, pieces, strict=True)}

    def file(self, metadata: Mapping[str, str], order: Sequence[int] | None = None) -> bytes:
        """The safetensors file; ``order`` lays the tensors out otherwise."""
        specs = [self.specs[i] for i in order] if order is not None else list(self.specs)
        parts = self.parts()
        return safetensors(specs, [parts[name].tobytes() for name, _, _ in specs], metadata)


def safetensors(
    specs: Sequence[Spec], parts: Sequence[bytes], metadata: Mapping[str, str]
) -> bytes:
    return build_header(specs, metadata) + b"".join(parts)


def read_file(data: bytes, what: str) -> Header:
    """Raises Failed where the file breaks the format."""
    try:
        return read_header(io.BytesIO(data), len(data))
    except Refused as refused:
        raise Failed(f"{what} is {refused.detail.split(';')[0]}") from None


def read_weights(data: bytes, what: str) -> Weights:
    """A snapshot's numbers in the order of the file; raises Failed if it is no float32 file."""
    header = read_file(data, what)
    entries = sorted(header.tensors.values(), key=lambda entry: entry.start)
    if odd := [entry.name for entry in entries if entry.dtype != "F32"]:
        raise Failed(f"{what} has tensors that are no F32: {odd[:3]}")
    specs = tuple((entry.name, entry.dtype, entry.shape) for entry in entries)
    return Weights(specs, np.frombuffer(data, FLOAT32, offset=header.data_start))


def encode(codec: Codec, delta: np.ndarray) -> bytes:
    """A float32 vector in an encoding, chunk after chunk."""
    chunks = (delta[i : i + CHUNK] for i in range(0, delta.size, CHUNK))
    return b"".join(codec.encode(chunk).tobytes() for chunk in chunks)


def decode(codec: Codec, data: bytes, count: int) -> np.ndarray:
    """Float32 ``[count]``; raises Failed for bytes that no encoder makes."""
    out, begin = np.empty(count, FLOAT32), 0
    if len(data) != encoded_bytes(codec, count):
        raise Failed(f"{len(data)} bytes for {count} values in {codec.id}")
    for i in range(0, count, CHUNK):
        chunk = out[i : i + CHUNK]
        size = codec.size(chunk.size)
        try:
            codec.decode(np.frombuffer(data, np.uint8, size, begin), chunk)
        except ValueError as error:
            raise Failed(f"bytes that are no {codec.id}: {error}") from None
        begin += size
    return out


def delta_file(encoding: str, data: bytes, metadata: Mapping[str, str]) -> bytes:
    """An encoded delta as a file."""
    return safetensors([("delta", "U8", (len(data),))], [data], {"kodlama": encoding, **metadata})


def read_delta(data: bytes, what: str) -> tuple[bytes, dict[str, str]]:
    """The encoded bytes of a delta file and its metadata; raises Failed if it is none."""
    header = read_file(data, what)
    found = {name: (entry.dtype, len(entry.shape)) for name, entry in header.tensors.items()}
    if found != {"delta": ("U8", 1)}:
        raise Failed(f"{what} has {found}, not one U8 tensor delta")
    return data[header.data_start :], header.metadata


def norm_limit(lr: float, inner_steps: int, parameters: int) -> float:
    return largest_update_norm(lr, inner_steps, parameters)


def noise(count: int, norm: float, seed: int) -> np.ndarray:
    """Float32 ``[count]`` whose L2 norm is ``norm``."""
    drawn = np.random.default_rng(seed).standard_normal(count)
    return (drawn * (norm / np.linalg.norm(drawn))).astype(FLOAT32)


def nesterov(
    w: np.ndarray, results: Sequence[np.ndarray], b: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The reference step: new weights and momentum, float32, from results in order of parca."""
    half = np.float32(0.5)
    total = np.zeros(w.size, np.float64)
    for result in results:
        total += result
    g = w - (total / len(results)).astype(FLOAT32)
    b = g if b is None else half * b + g
    return w - (g + half * b), b


def ulps(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of float32 arrays in units of the last place."""
    distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.max(distance / np.spacing(np.maximum(np.abs(a), np.abs(b)))))
