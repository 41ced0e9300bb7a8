"""What a coordinator does with results, on files alone: take in, merge, publish.

The simulation's half of ``coordination.results`` and ``coordination.rounds``: the same functions
in the same order, without database, store and network.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from coordination.aggregation.check import check_result
from coordination.aggregation.downlink import compress_update
from coordination.aggregation.merge import Contribution, MergePlan, merge
from coordination.aggregation.outer import Nesterov, Outer, Sgd
from coordination.aggregation.vectors import VectorFile
from modelen_site.experiments.plan import Setting
from worker_client.contract.encodings import CODECS, encoded_bytes
from worker_client.contract.encodings.delta import delta_header
from worker_client.contract.formats import Format
from worker_client.contract.snapshots import snapshot_header
from worker_client.contract.tensors import read_header
from worker_client.contract.wire import RAW_ENCODING

NO_SECRET = b"nobody has to be kept from copying here"


def outer_optimiser(setting: Setting) -> Outer:
    """Plain descent at rate 1 is FedAvg: the mean itself."""
    if setting.kind != "diloco":
        return Sgd(1.0)
    return Nesterov(setting.outer_lr, setting.outer_momentum)


@dataclass
class FileCoordinator:
    """``snapshot`` is what the round ``number`` starts from; ``update_bytes`` is the size of the
    file that leads to it from the one before, and of the whole where there is none."""

    folder: Path
    format: Format
    setting: Setting
    norm_limit: float
    snapshot: Path
    number: int = 1
    update_bytes: int = 0
    _results: list[VectorFile] = field(default_factory=list)
    _state: list[VectorFile] = field(default_factory=list)
    _residual: VectorFile | None = None

    def __post_init__(self) -> None:
        self.update_bytes = self.snapshot.stat().st_size
        self._start = self._weights(self.snapshot)

    def receive(self, file: Path) -> None:
        """Take a result in, in order of shard.

        Raises:
            Refused: a coordinator would not accept it.
        """
        out = self.folder / f"result-{self.number}-{len(self._results)}.f32"
        encoding = self.setting.up
        with out.open("wb") as sink:
            check_result(file, self.format, self._start, self.norm_limit, sink, NO_SECRET, encoding)
        self._results.append(VectorFile(out, 0, self.format.parameters))

    def publish(self) -> None:
        """Merge what was received into the next snapshot."""
        plan = MergePlan(outer=outer_optimiser(self.setting))
        names, number = plan.outer.state_names, self.number + 1
        header = snapshot_header(self.format, number)
        snapshot = self.folder / f"snapshot-{number}.safetensors"
        states = [self.folder / f"{name}-{number}.f32" for name in names]
        with ExitStack() as stack:
            weights, *state = (stack.enter_context(path.open("wb")) for path in (snapshot, *states))
            weights.write(header)
            contributions = [Contribution(vector) for vector in self._results]
            writers = [file.write for file in state]
            merge(self._start, self._state, contributions, plan, weights.write, writers)
        size = snapshot.stat().st_size
        if self.setting.down != RAW_ENCODING:
            size = self._compress(snapshot, header, number)
        self._move_on(snapshot, [VectorFile(path, 0, self.format.parameters) for path in states])
        self.update_bytes = size

    def _compress(self, snapshot: Path, header: bytes, number: int) -> int:
        """Replace ``snapshot`` by what its compressed update leads to; the update's size."""
        codec, target = CODECS[self.setting.down], self._weights(snapshot)
        made, left = snapshot.with_suffix(".made"), self.folder / f"downlink-{number}.f32"
        size = encoded_bytes(codec, target.count)
        metadata = {"bicim": self.format.id, "tur": str(number)}
        total = len(delta_header(codec, size, metadata))
        with made.open("wb") as weights, left.open("wb") as residual:
            weights.write(header)
            for data in compress_update(
                self._start, target, self._residual, codec, weights.write, residual.write
            ):
                total += data.nbytes
        made.replace(snapshot)
        if self._residual is not None:
            self._residual.path.unlink()
        self._residual = VectorFile(left, 0, target.count)
        return total

    def _move_on(self, snapshot: Path, state: list[VectorFile]) -> None:
        for vector in (*self._results, *self._state, self._start):
            vector.path.unlink()
        self._results, self._state = [], state
        self.snapshot, self.number = snapshot, self.number + 1
        self._start = self._weights(snapshot)

    def _weights(self, path: Path) -> VectorFile:
        with path.open("rb") as file:
            begins = read_header(file, path.stat().st_size).data_start
        return VectorFile(path, begins, self.format.parameters)
