"""The next snapshot as a compressed update of the last, and exactly what the update leads to.

The coordinator applies to its own weights what it publishes, and keeps what encoding left out for
the next update (error feedback, as in SparseLoCo, arXiv 2508.15706): so a worker that holds the
last snapshot ends with the coordinator's bytes.
"""

from collections.abc import Iterator

import numpy as np

from coordination.aggregation.merge import Write
from coordination.aggregation.vectors import FLOAT32, VectorFile, as_bytes, slices
from worker_client.contract.encodings import CHUNK, Codec


def compress_update(
    start: VectorFile,
    target: VectorFile,
    residual: VectorFile | None,
    codec: Codec,
    write_weights: Write,
    write_residual: Write,
) -> Iterator[np.ndarray]:
    """Encode ``target - start + residual`` chunk by chunk, float32 each, as it is asked for.

    All vectors have ``start.count`` values. Of each chunk the encoded bytes, uint8, come out, after
    the weights they lead to (``start`` plus the decoded update) and what they leave out were
    written. The same arguments give the same bytes.
    """
    buffers = np.empty((4, CHUNK), FLOAT32)
    for begin, end in slices(start.count, CHUNK):
        old = start.read(begin, end, buffers[0])
        wanted = target.read(begin, end, buffers[1])
        wanted -= old
        if residual is not None:
            wanted += residual.read(begin, end, buffers[2])
        data = codec.encode(wanted)
        sent = buffers[3][: end - begin]
        codec.decode(data, sent)
        wanted -= sent
        write_residual(as_bytes(wanted))
        old += sent
        write_weights(as_bytes(old))
        yield data
