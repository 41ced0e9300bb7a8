"""A delta as a file: a safetensors file whose one tensor ``delta`` holds the encoded bytes.

So metadata, digest and strict reading are those of every other file here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from worker_client.contract.encodings import CHUNK, Codec, encoded_bytes
from worker_client.contract.errors import Refusal, Refused
from worker_client.contract.tensors import Header, build_header

DELTA = "delta"


@dataclass(frozen=True)
class Delta:
    """``count`` encoded values from byte ``start`` of a file."""

    codec: Codec
    count: int
    start: int

    @classmethod
    def of(cls, header: Header, codec: Codec, count: int) -> "Delta":
        """Where the encoded values lie in the file that ``header`` describes.

        Raises:
            Refused: WRONG_ENCODING, or CORRUPT_FILE when the size is not the encoding's.
        """
        entry = header.tensors.get(DELTA)
        if entry is None or len(header.tensors) != 1 or entry.dtype != "U8":
            raise Refused(
                Refusal.WRONG_ENCODING,
                f"the task wants kodlama {codec.id}: one U8 tensor named {DELTA}",
            )
        if header.metadata.get("kodlama", codec.id) != codec.id:
            raise Refused(Refusal.WRONG_ENCODING, f"the task wants kodlama {codec.id}")
        if entry.shape != (encoded_bytes(codec, count),):
            raise Refused(
                Refusal.CORRUPT_FILE,
                f"{count} values in {codec.id} take {encoded_bytes(codec, count)} bytes, not "
                f"{list(entry.shape)}",
            )
        return cls(codec, count, entry.start)

    def read(self, file: BinaryIO, begin: int, end: int, out: np.ndarray) -> np.ndarray:
        """Values ``begin`` to ``end``, one chunk, into float32 ``out``; the answer is a view of it.

        Raises:
            Refused: CORRUPT_FILE when no encoder makes such bytes.
        """
        file.seek(self.start + begin // CHUNK * self.codec.size(CHUNK))
        data = file.read(self.codec.size(end - begin))
        values = out[: end - begin]
        try:
            self.codec.decode(np.frombuffer(data, np.uint8), values)
        except ValueError as error:
            raise Refused(Refusal.CORRUPT_FILE, f"not {self.codec.id}: {error}") from None
        return values


def delta_header(codec: Codec, size: int, metadata: Mapping[str, str]) -> bytes:
    """What comes before ``size`` encoded bytes."""
    return build_header([(DELTA, "U8", (size,))], {**metadata, "kodlama": codec.id})


def delta_file(
    codec: Codec, count: int, chunks: Iterable[np.ndarray], metadata: Mapping[str, str]
) -> Iterator[bytes]:
    """The file's bytes in pieces. ``chunks``: float32, ``CHUNK`` values each but the last."""
    yield delta_header(codec, encoded_bytes(codec, count), metadata)
    for chunk in chunks:
        yield codec.encode(chunk).tobytes()
