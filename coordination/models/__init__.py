"""What a coordinator remembers. Every transition is made by a verb in a sibling folder.

A run has rounds; a round starts from a snapshot and has one unit per shard it uses; a unit is
leased to a worker; a lease delivers a result; the round's results are merged into the next
snapshot, and each snapshot is evaluated on held-out data. Bytes live in the blob store under the
digests named here.
"""

from coordination.models.evaluation import Evaluation, HeldOut
from coordination.models.files import DataShard, OuterState, Snapshot
from coordination.models.preparation import Chunk, Preparation
from coordination.models.result import Check, Result
from coordination.models.round import Round
from coordination.models.run import SHA256_LENGTH, Run, touch
from coordination.models.sample import SamplePrompts, Samples
from coordination.models.tally import RefusalCount, RoundTally, WorkerTraffic
from coordination.models.work import Lease, Unit, Upload
from coordination.models.worker import Worker, WorkerEvent

__all__ = [
    "SHA256_LENGTH",
    "Check",
    "Chunk",
    "DataShard",
    "Evaluation",
    "HeldOut",
    "Lease",
    "OuterState",
    "Preparation",
    "RefusalCount",
    "Result",
    "Round",
    "RoundTally",
    "Run",
    "SamplePrompts",
    "Samples",
    "Snapshot",
    "Unit",
    "Upload",
    "Worker",
    "WorkerEvent",
    "WorkerTraffic",
    "touch",
]
