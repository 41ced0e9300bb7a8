"""The job ``olc`` inside the training child: scores are the evaluator's, rows are the recipe's."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.worker_client.materials import TINY, pattern_rows, write_shard
from worker_client.contract.wire import WORST_LOSS
from worker_client.data.errors import DataError
from worker_client.evaluation.evaluate import Evaluator
from worker_client.evaluation.score import batch_rows
from worker_client.evaluation.task import score_task
from worker_client.models.store import ModelStore
from worker_client.training.errors import Abandoned, SnapshotRefused
from worker_client.training.files import write_weights
from worker_client.training.messages import Evaluate, Step, Subject
from worker_client.training.rows import row_stream

SEQ = 32


@pytest.fixture(scope="module")
def evaluator(tiny_models) -> Evaluator:
    return Evaluator(TINY, ModelStore(tiny_models), device="cpu", threads=1)


@pytest.fixture
def trainee(evaluator):
    """Its model with an adapter in use, as the training child has it."""
    evaluator.use(None)
    trainee = evaluator.trainee
    trainee.model.base_model.enable_adapter_layers()
    return trainee


def weights(folder: Path, seed: int, scale: float = 0.3) -> Path:
    draw = np.random.default_rng(seed)
    tensors = {s.name: draw.normal(0, scale, s.shape).astype("<f4") for s in TINY.tensors}
    return write_weights(folder / f"w{seed}.safetensors", TINY, tensors, {"format": "pt"}).path


def command(*subjects: Subject, **changes: object) -> Evaluate:
    fields: dict = {"round": 2, "inner_steps": 3, "batch_size": 2, "seq_len": SEQ, "seed": 7}
    fields |= {"lease_id": "l", "mode": "cpt", "subjects": list(subjects)}
    return Evaluate(**fields | changes)


def test_losses_are_the_evaluators(evaluator, trainee, tmp_path):
    data = write_shard(tmp_path / "d.safetensors", pattern_rows(50, SEQ))
    files = [weights(tmp_path, seed) for seed in (1, 2)]
    subjects = [Subject(weights=str(path), data=str(data)) for path in files]
    steps: list[Step] = []
    scored = score_task(trainee, command(*subjects), steps.append)
    for loss, path in zip(scored.losses, files, strict=True):
        evaluator.use(path)
        assert loss == pytest.approx(evaluator.score_shards([data], seq_len=SEQ).loss, rel=1e-4)
    assert scored.losses[0] != pytest.approx(scored.losses[1], rel=1e-3)
    assert (scored.tokens, scored.bytes) == (50 * (SEQ - 1), 0)  # the file tells no bytes
    batches = -(-50 // batch_rows(SEQ))
    assert [step.step for step in steps] == list(range(1, 2 * batches + 1))
    assert {step.steps for step in steps} == {2 * batches}


def test_with_a_shard_the_rows_are_those_that_its_training_takes(evaluator, trainee, tmp_path):
    ids = np.random.default_rng(0).integers(0, 255, (40, SEQ)).astype("<i4")
    ids[:20] = 65  # loses otherwise than the rest
    data = write_shard(tmp_path / "d.safetensors", ids)
    taken = sorted(islice(row_stream(7, 2, 5, 40), 6))
    only = write_shard(tmp_path / "only.safetensors", ids[taken])
    path = str(weights(tmp_path, 1))
    subjects = (
        Subject(weights=path, data=str(data), shard=5),
        Subject(weights=path, data=str(only)),
        Subject(weights=path, data=str(data)),
    )
    scored = score_task(trainee, command(*subjects), lambda step: None)
    some, same, every = scored.losses
    assert some == pytest.approx(same, rel=1e-5) and some != pytest.approx(every, rel=1e-4)
    assert scored.tokens == 6 * (SEQ - 1)


def test_a_shard_that_training_goes_through_twice_counts_each_row_once(trainee, tmp_path):
    data = write_shard(tmp_path / "d.safetensors", pattern_rows(4, SEQ))
    subject = Subject(weights=str(weights(tmp_path, 1)), data=str(data), shard=0)
    scored = score_task(trainee, command(subject, inner_steps=10), lambda step: None)
    assert scored.tokens == 4 * (SEQ - 1)


def test_only_labelled_tokens_count(trainee, tmp_path):
    ids = pattern_rows(3, SEQ)
    labels = np.full_like(ids, -100)
    labels[:, 4:9] = ids[:, 4:9]
    data = write_shard(tmp_path / "d.safetensors", ids, labels)
    subject = Subject(weights=str(weights(tmp_path, 1)), data=str(data))
    scored = score_task(trainee, command(subject, mode="sft"), lambda step: None)
    assert scored.tokens == 3 * 5
    write_shard(data, ids, np.full_like(ids, -100))
    with pytest.raises(DataError, match="nothing to score"):
        score_task(trainee, command(subject, mode="sft"), lambda step: None)


def test_a_loss_that_is_no_number_is_told_as_the_worst(trainee, tmp_path):
    data = write_shard(tmp_path / "d.safetensors", pattern_rows(3, SEQ))
    subject = Subject(weights=str(weights(tmp_path, 1, scale=1e30)), data=str(data))
    assert score_task(trainee, command(subject), lambda step: None).losses == [WORST_LOSS]


def test_bad_files_are_refused(trainee, tmp_path):
    data = write_shard(tmp_path / "d.safetensors", pattern_rows(3, SEQ))
    (tmp_path / "no").write_bytes(b"nothing")
    with pytest.raises(SnapshotRefused):
        subject = Subject(weights=str(tmp_path / "no"), data=str(data))
        score_task(trainee, command(subject), lambda step: None)
    with pytest.raises(DataError):
        subject = Subject(weights=str(weights(tmp_path, 1)), data=str(tmp_path / "no"))
        score_task(trainee, command(subject), lambda step: None)


def test_it_ends_between_two_batches(trainee, tmp_path):
    data = write_shard(tmp_path / "d.safetensors", pattern_rows(200, SEQ))
    subject = Subject(weights=str(weights(tmp_path, 1)), data=str(data))
    steps: list[Step] = []

    def give_up(step: Step) -> None:
        steps.append(step)
        if len(steps) == 2:
            raise Abandoned

    with pytest.raises(Abandoned):
        score_task(trainee, command(subject), give_up)
    assert len(steps) == 2
