"""One task again and again: plain, as a check, and in every encoding that the worker offers."""

from typing import Any

import numpy as np
from pydantic import ValidationError

from worker_client.conformance import weights
from worker_client.conformance.check import Failed, NotObservable, demand
from worker_client.conformance.worker import material
from worker_client.conformance.worker.checks import worker as check
from worker_client.conformance.worker.hostile import tempt
from worker_client.conformance.worker.rehearsal import Rehearsal
from worker_client.conformance.worker.scene import Played, demand_taken, play
from worker_client.conformance.worker.stage import Changes, Stage, StageLease
from worker_client.contract import wire
from worker_client.contract.encodings import CODECS

# The same fields in each lease, whatever its round is.
TASK: dict[str, Any] = {"tur": 1, "tur_sayisi": 2}
# Numbers of leases; then comes one for each encoding.
PLAIN, AGAIN, TARGET, MEASURE, LABELS = 1, 2, 3, 4, 5
LABELLED = 3  # tokens of each row
AGREES = 0.05
# What an encoding keeps of the direction, with room to spare.
LEAST_COSINE = {"bf16": 0.99, "int8": 0.99, "int4": 0.9, "topk": 0.15}
FIELDS = (
    "tur tur_sayisi ic_adim bs seq lr tohum parca n_parca mod bicim recete taban_model kodlama "
    "adaptor veri"
).split()


def hedef(stage: Stage, **changes: Any) -> dict[str, Any]:
    """The fields of a task to repeat, with changes."""
    plain = Stage(stage.fmt).task(StageLease(1, "x", "k" * 64, "", 1, 0.0)) | TASK
    return {name: plain[name] for name in FIELDS} | changes


def repeated(rehearsal: Rehearsal) -> Played:
    if "repeated" not in rehearsal.scenes:
        stage = Stage(rehearsal.fmt, rounds=LABELS + len(CODECS), with_about=False)
        stage.files["/labels"] = material.shard(rehearsal.fmt, labelled=LABELLED)
        labels = TASK | {"mod": "sft", "veri": stage.file_ref("/labels")}

        def target(lease: StageLease) -> dict[str, Any]:
            """A check whose copies beside ``hedef`` are of another task."""
            if not lease.does("dogrula"):
                return TASK
            return TASK | {"is": "dogrula", "hedef": hedef(stage), "tohum": 8}

        def measure(lease: StageLease) -> dict[str, Any]:
            """The snapshot twice, on data whose file says nothing of bytes."""
            if not lease.does("olc"):
                return TASK
            aday = [{"adaptor": stage.file_ref("/adaptor")}] * 2
            return TASK | {"is": "olc", "aday": aday}

        def in_encoding(name: str) -> Changes:
            return lambda lease: TASK | ({"kodlama": name} if lease.offers(name) else {})

        stage.task_changes = [TASK, TASK, target, measure, labels, *map(in_encoding, CODECS)]
        rehearsal.scenes["repeated"] = play(rehearsal, stage)
    scene = rehearsal.scenes["repeated"]
    assert isinstance(scene, Played)
    demand_taken(scene)
    return scene


def lease_of(scene: Played, number: int) -> StageLease:
    """Raises NotObservable where nothing came on it."""
    lease = next((one for one in scene.stage.leases if one.number == number), None)
    if lease is None or not lease.results:
        raise NotObservable(f"no result came on lease {number}; {scene.last_words}")
    return lease


def update_of(scene: Played, number: int) -> np.ndarray:
    """Result minus snapshot of a lease in ``ham``, float32 in manifest order."""
    fmt = scene.stage.fmt
    start = weights.read_weights(scene.stage.files["/adaptor"], "the snapshot").parts()
    made = weights.read_weights(lease_of(scene, number).results[0], "the result").parts()
    demand(made.keys() == start.keys(), "the result's tensors are not the format's")
    return np.concatenate([made[s.name] - start[s.name] for s in fmt.tensors])


def apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


@check(
    "repeatable",
    "Everything follows from the task's fields, so that another worker can repeat it.",
)
def repeatable(rehearsal: Rehearsal) -> str:
    scene = repeated(rehearsal)
    off = apart(update_of(scene, AGAIN), update_of(scene, PLAIN))
    demand(off <= AGREES, f"one task trained twice gave updates {off:.3f} apart")
    return f"{off:.2g} apart"


@check("target-trained", "and is what is trained; the same fields beside it are a copy.")
def target_trained(rehearsal: Rehearsal) -> str:
    scene = repeated(rehearsal)
    lease = next((one for one in scene.stage.leases if one.number == TARGET), None)
    if lease is None or not lease.does("dogrula"):
        raise NotObservable("isler does not name dogrula, which is optional")
    if not lease.results:
        return "it refused a lease whose copies contradict hedef"
    off = apart(update_of(scene, TARGET), update_of(scene, PLAIN))
    demand(off <= AGREES, f"beside hedef stood another tohum; what came is {off:.3f} from hedef's")
    return f"{off:.2g} apart"


@check(
    "encoded-results",
    "Its file is a safetensors file too, with one U8 tensor `delta` that holds the encoded bytes, "
    "and `kodlama` and the metrics in its `__metadata__`",
)
def encoded_results(rehearsal: Rehearsal) -> str:
    scene, found = repeated(rehearsal), list[str]()
    plain = update_of(scene, PLAIN)
    for number, codec in enumerate(CODECS.values(), LABELS + 1):
        lease = next((one for one in scene.stage.leases if one.number == number), None)
        if lease is None or not lease.offers(codec.id):
            continue
        data, told = weights.read_delta(lease_of(scene, number).results[0], f"the {codec.id}")
        demand(told.get("kodlama") == codec.id, f"kodlama in the file is {told.get('kodlama')}")
        demand(
            told.get("gorev") == lease.id, f"gorev in the {codec.id} file is {told.get('gorev')}"
        )
        delta = weights.decode(codec, data, plain.size)
        cosine = float(delta @ plain / (np.linalg.norm(delta) * np.linalg.norm(plain) or 1.0))
        least = LEAST_COSINE[codec.id]
        demand(cosine >= least, f"{codec.id}: cosine {cosine:.3f} to the same task's ham result")
        found.append(f"{codec.id} {cosine:.3f}")
    if not found:
        raise NotObservable("it offers ham only")
    return "cosine " + ", ".join(found)


@check("measured", 'JSON `{"kayip": [...], "token": n, "bayt": n}`, one loss per candidate')
def measured(rehearsal: Rehearsal) -> str:
    scene = repeated(rehearsal)
    lease = next((one for one in scene.stage.leases if one.number == MEASURE), None)
    if lease is None or not lease.does("olc"):
        raise NotObservable("isler does not name olc, which is optional")
    try:
        told = wire.Evaluation.model_validate_json(lease_of(scene, MEASURE).results[0])
    except ValidationError as error:
        raise Failed(f"no answer to olc: {wire.explain(error)}") from None
    demand(len(told.losses) == 2, f"{len(told.losses)} losses for 2 candidates")
    demand(told.losses[0] == told.losses[1], f"one snapshot twice, and losses {told.losses}")
    tokens = material.SHARD_ROWS * (material.SEQ - 1)
    found = (told.tokens, told.bytes)
    demand(found == (tokens, 0), f"token and bayt are {found}, not {(tokens, 0)}")
    return f"{told.losses[0]:.2f} nats per token"


@check("labels", "for `sft` also `labels` int32 `[n, seq]` (-100: no loss)")
def labels(rehearsal: Rehearsal) -> str:
    scene = repeated(rehearsal)
    lease = lease_of(scene, LABELS)
    task = scene.stage.task(lease)
    counted = LABELLED * task["bs"] * task["ic_adim"]
    told = weights.read_file(lease.results[0], "the result").metadata.get("token")
    demand(told == str(counted), f"token is {told} where {counted} labels are no -100")
    off = apart(update_of(scene, LABELS), update_of(scene, PLAIN))
    demand(off > AGREES, f"the update is that of all tokens ({off:.2g} apart)")
    return f"{counted} tokens with labels, {off:.2g} from the update of all"


@check("hostile-jobs", "a worker gets only what its `isler` names")
def hostile_jobs(rehearsal: Rehearsal) -> str:
    stage = Stage(rehearsal.fmt)
    wrong: list[dict[str, Any]] = [
        {"bs": 0},
        {"tur": 3},
        {"recete": "suite-unknown"},
        {"adaptor": stage.file_ref("/adaptor") | {"yol": "//127.0.0.1:9/adaptor"}},
    ]
    tasks: list[Changes] = [{"is": "dogrula", "hedef": hedef(stage, **w)} for w in wrong]
    aday = {"adaptor": stage.file_ref("/adaptor")}
    candidates: list[list[Any]] = [[], [aday] * 17, [{"adaptor": {}}]]
    tasks += [{"is": "olc", "aday": these} for these in candidates]
    tasks += [{"is": "olc"}, {"is": "dogrula"}, {"is": "dogrula", "hedef": {}}, {"is": "on_isle"}]
    tempt(rehearsal, tasks)
    return f"{len(tasks)} tasks"


@check(
    "hostile-encoding",
    "A coordinator asks for the run's encoding where the worker offers it, else for `ham`.",
)
def hostile_encoding(rehearsal: Rehearsal) -> None:
    def not_offered(lease: StageLease) -> dict[str, Any]:
        names = [name for name in ("ham", *CODECS, "suite-unknown") if not lease.offers(name)]
        return {"kodlama": names[0]}

    tempt(rehearsal, [not_offered])
