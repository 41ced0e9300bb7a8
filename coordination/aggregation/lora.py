"""LoRA's factors are averaged, but what they stand for is their product.

A module's update is ``B A`` with ``A [rank, inputs]`` and ``B [outputs, rank]``. The product of
the mean factors is not the mean of the products; from a common start the difference is of second
order in the updates (cf. Wang et al. 2024, arXiv 2409.05976; Bian et al. 2024, arXiv 2411.14961).
Here it is measured, and avoided: the mean product, brought back to ``rank`` in the best way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coordination.aggregation.vectors import FLOAT32, Rows, Slice, VectorFile
from worker_client.contract.formats import AdapterFormat, Format

PROBES = 32
# Factors are turned into the frame of the mean A unless that would magnify rounding errors.
MAX_CONDITION = 1e6
NEGLIGIBLE_SHARE = 1e-6  # what rounding leaves of shares that sum up to one


@dataclass(frozen=True)
class Pair:
    """A module's factors in a vector: A at ``begin``, then B, both by rows."""

    begin: int
    rank: int
    inputs: int
    outputs: int

    @property
    def end(self) -> int:
        return self.begin + self.rank * (self.inputs + self.outputs)

    def split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Views of ``rows [..., end - begin]``: A ``[..., rank, inputs]`` and B."""
        cut = self.rank * self.inputs
        a, b = rows[..., :cut], rows[..., cut:]
        return (
            a.reshape(*rows.shape[:-1], self.rank, self.inputs),
            b.reshape(*rows.shape[:-1], self.outputs, self.rank),
        )


def pairs_of(fmt: Format) -> tuple[Pair, ...]:
    """The format's LoRA modules in manifest order; a whole model has none."""
    if not isinstance(fmt, AdapterFormat):
        return ()
    found, begin = [], 0
    for a, b in zip(fmt.tensors[::2], fmt.tensors[1::2], strict=True):
        found.append(Pair(begin, a.shape[0], a.shape[1], b.shape[0]))
        begin = found[-1].end
    return tuple(found)


def bias(
    start: VectorFile, vectors: Sequence[VectorFile], shares: np.ndarray, pairs: Sequence[Pair]
) -> float:
    """``|mean(BA) - mean(B) mean(A)| / |mean(BA)|`` in Frobenius norms over all modules.

    ``shares`` weigh the vectors, and what they leave of 1 the start. Both norms are estimated
    from the products with 32 random signs vectors for each module (Hutchinson 1989), which over
    the modules of a model is right to about a hundredth. 0 when all products are 0.
    """
    signs = np.random.default_rng(0)
    apart = whole = 0.0
    for _, rows, weights in _modules(start, vectors, shares, pairs):
        probes = signs.integers(0, 2, (rows.pair.inputs, PROBES)).astype(FLOAT32) * 2 - 1
        mean = np.einsum("i,ij->j", weights.astype(FLOAT32), rows.values)
        mean_a, mean_b = rows.pair.split(mean)
        a, b = rows.pair.split(np.subtract(rows.values, mean, out=rows.values))
        scattered = _product(a, b, weights.astype(FLOAT32), probes)
        apart += float(np.square(scattered, dtype=np.float64).sum())
        whole += float(np.square(scattered + mean_b @ (mean_a @ probes), dtype=np.float64).sum())
    return float(np.sqrt(apart / whole)) if whole else 0.0


def _product(a: np.ndarray, b: np.ndarray, weights: np.ndarray, probes: np.ndarray) -> np.ndarray:
    """``sum(weights * B A) @ probes`` of ``a [n, rank, inputs]`` and ``b [n, outputs, rank]``, in
    two multiplications: thousands of small ones cost more than they compute."""
    inner = a.reshape(-1, a.shape[2]) @ probes
    inner = inner.reshape(*a.shape[:2], -1) * weights[:, None, None]
    return b.transpose(1, 0, 2).reshape(b.shape[1], -1) @ inner.reshape(-1, probes.shape[1])


def exact_averages(
    start: VectorFile, vectors: Sequence[VectorFile], shares: np.ndarray, pairs: Sequence[Pair]
) -> Iterator[Slice]:
    """Factors whose product is the best approximation, of the modules' rank, of the mean product.

    The same on one machine every time; another's linear algebra may differ in the last bits.
    """
    for origin, rows, weights in _modules(start, vectors, shares, pairs):
        pair = rows.pair
        mean_a, _ = pair.split(weights @ rows.values)
        a, b = pair.split(rows.values.astype(np.float64))
        left = np.concatenate([w * factor for w, factor in zip(weights, b, strict=True)], axis=1)
        merged = factorise(left, a.reshape(-1, pair.inputs), mean_a)
        joined = np.concatenate([factor.ravel() for factor in merged]).astype(FLOAT32)
        yield Slice(pair.begin, pair.end, origin, joined)


def factorise(
    left: np.ndarray, right: np.ndarray, frame: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A ``[rank, inputs]`` and B ``[outputs, rank]``: ``B A`` is ``left @ right`` cut to rank.

    Of all pairs with that product the one whose A is ``frame``, the mean A, as far as the
    product's row space allows: the next round trains factors, and the outer state is about them.
    """
    rank = len(frame)
    q_left, r_left = np.linalg.qr(left)
    q_right, r_right = np.linalg.qr(right.T)
    u, sizes, vt = np.linalg.svd(r_left @ r_right.T, full_matrices=False)
    u, sizes, v = q_left @ u[:, :rank], sizes[:rank], q_right @ vt[:rank].T
    turn = frame @ v
    if np.linalg.cond(turn) <= MAX_CONDITION:
        return turn @ v.T, np.linalg.solve(turn.T, (u * sizes).T).T
    return np.sqrt(sizes)[:, None] * v.T, u * np.sqrt(sizes)


@dataclass(frozen=True)
class _ModuleRows:
    pair: Pair
    values: np.ndarray


def _modules(
    start: VectorFile, vectors: Sequence[VectorFile], shares: np.ndarray, pairs: Sequence[Pair]
) -> Iterator[tuple[np.ndarray, _ModuleRows, np.ndarray]]:
    """Module by module: the start's factors, those of all that has a share, and the shares."""
    rest = 1 - float(shares.sum())
    used = [int(i) for i in np.flatnonzero(shares)]
    weights = np.array([rest, *shares[used]])
    first = 0 if abs(rest) > NEGLIGIBLE_SHARE else 1
    width = max(pair.end - pair.begin for pair in pairs)
    with Rows([start, *(vectors[i] for i in used)]) as rows:
        buffer = rows.buffer(width)
        for pair in pairs:
            values = rows.read(pair.begin, pair.end, buffer)
            yield values[0].copy(), _ModuleRows(pair, values[first:]), weights[first:]
