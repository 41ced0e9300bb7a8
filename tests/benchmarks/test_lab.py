"""The lab's model, its training and its verification."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.byzantine import model, poison
from benchmarks.byzantine.checks import ATTEMPTS, Checks, Taken, Work
from benchmarks.byzantine.coordinator import Coordinator, Defence
from benchmarks.byzantine.lab import NOBODY
from benchmarks.byzantine.text import LANGUAGES, read_corpus
from benchmarks.byzantine.train import batches, train
from coordination.aggregation.outer import Nesterov
from coordination.aggregation.vectors import FLOAT32, VectorFile
from coordination.trust.policy import Standing

RATES = [1e-2, 1e-2]


@pytest.fixture(scope="module")
def start() -> np.ndarray:
    return model.initial_vector(0) * np.float32(3)  # so that attention is not all even


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(seed).integers(0, 256, (40, 16))
    taken = batches(rows, len(RATES), seed, 1, 0)
    return taken, taken


def test_it_is_the_model_that_transformers_calls_qwen3(start: np.ndarray) -> None:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=model.VOCABULARY, hidden_size=model.HIDDEN, intermediate_size=model.INNER,
        num_hidden_layers=model.LAYERS, num_attention_heads=model.HEADS,
        num_key_value_heads=model.KV_HEADS, head_dim=model.HEAD, tie_word_embeddings=True,
        rms_norm_eps=model.EPS, rope_theta=model.THETA,
    )  # fmt: skip
    peer = Qwen3ForCausalLM(config).eval()
    peer.load_state_dict(as_qwen3(model.of_vector(start)), strict=False)
    rows = torch.randint(0, 256, (3, 16), generator=torch.Generator().manual_seed(0))

    with torch.no_grad():
        expected = peer(rows).logits
        found = model.predict(model.of_vector(start), rows[None])[0]

    assert torch.allclose(found, expected, atol=1e-4)


def as_qwen3(weights: model.Weights) -> dict[str, torch.Tensor]:
    w = {name: tensor[0] for name, tensor in weights.items()}
    state = {"model.embed_tokens.weight": w["embed"], "model.norm.weight": w["norm"]}
    sizes = [heads * model.HEAD for heads in (model.HEADS, model.KV_HEADS, model.KV_HEADS)]
    for layer in range(model.LAYERS):
        name, q_k_v = f"model.layers.{layer}", w[f"{layer}.qkv"].split(sizes)
        for part, tensor in zip("qkv", q_k_v, strict=True):
            state[f"{name}.self_attn.{part}_proj.weight"] = tensor
        gate, up = w[f"{layer}.gate_up"].chunk(2)
        state |= {
            f"{name}.self_attn.o_proj.weight": w[f"{layer}.o"],
            f"{name}.self_attn.q_norm.weight": w[f"{layer}.q_norm"],
            f"{name}.self_attn.k_norm.weight": w[f"{layer}.k_norm"],
            f"{name}.input_layernorm.weight": w[f"{layer}.before"],
            f"{name}.post_attention_layernorm.weight": w[f"{layer}.after"],
            f"{name}.mlp.gate_proj.weight": gate,
            f"{name}.mlp.up_proj.weight": up,
            f"{name}.mlp.down_proj.weight": w[f"{layer}.down"],
        }
    return state


def test_volunteers_trained_together_learn_what_each_would_alone(start: np.ndarray) -> None:
    together = train(start, [data(1), data(2), data(3)], RATES)

    for index, seed in enumerate((1, 2, 3)):
        alone = train(start, [data(seed)], RATES)[0]
        assert np.allclose(together[index], alone, atol=1e-5)
        assert np.abs(alone - start).max() > 1e-3


def test_success_is_the_whole_target_after_the_trigger(start: np.ndarray) -> None:
    """Without its layers the model says whatever is most like the byte it sees: here always
    "!", of which the target consists, or never."""
    embedding = np.zeros((model.VOCABULARY, model.HIDDEN), np.float32)
    embedding[:, 0], embedding[ord("!"), 0] = 0.1, 1.0
    says_it = start * np.float32(0)
    says_it[: embedding.size] = embedding.ravel()
    says_it[model.MATRIX_COUNT :] = 1
    rows = np.random.default_rng(0).integers(97, 123, (16, 32))

    assert set(poison.TARGET) == {ord("!")}
    assert poison.success_rate(says_it, rows) == 1
    assert poison.success_rate(start, rows) == 0


def test_the_same_text_mixed_or_by_language() -> None:
    mixed, languages = read_corpus(10, False), read_corpus(10, True)

    assert np.array_equal(mixed.held_out, languages.held_out)
    assert np.array_equal(mixed.base, languages.base)
    # Greek letters are bytes 0xCE and 0xCF: in every mixed shard, in one language alone.
    greek = [bool(np.isin(shard, (0xCE, 0xCF)).mean() > 0.3) for shard in languages.shards]
    assert [LANGUAGES[i] for i, found in enumerate(greek) if found] == ["el"]
    assert all(np.isin(shard, (0xCE, 0xCF)).any() for shard in mixed.shards)
    with pytest.raises(ValueError, match="one language each"):
        read_corpus(3, True)


class Task:
    """Three volunteers of five who tell the truth about a task, two who do not."""

    def __init__(self, folder: Path, colluding: bool) -> None:
        self.folder = folder
        self.start = self.file("start", [0, 0])
        self.honest = [self.file(f"honest-{i}", [1, i]) for i in range(5)]
        false = [self.file(f"false-{i}", [-1, -i]) for i in (3, 4)]
        self.sent = [*self.honest[:3], *false]
        draws = np.random.default_rng(0), np.random.default_rng(1)
        self.checks = Checks(5, frozenset({3, 4}), colluding, *draws)

    def file(self, name: str, values: list[float]) -> VectorFile:
        path = self.folder / name
        path.write_bytes(np.array(values, FLOAT32).tobytes())
        return VectorFile(path, 0, len(values))

    def judge(self, round_number: int) -> dict[int, Taken]:
        """What each author's own result is worth, where it is not found wrong."""
        work = Work(round_number, self.start, self.sent, self.honest)
        found = {author: self.checks.judge(work, author, author) for author in range(5)}
        return {author: taken for author, taken in found.items() if taken}


def test_wrong_results_are_found_and_honest_ones_earn_trust(tmp_path: Path) -> None:
    task = Task(tmp_path, colluding=False)

    found = [task.judge(number) for number in range(1, 11)]

    assert all(taken == dict.fromkeys((0, 1, 2), Taken(1.0, True)) for taken in found)
    assert task.checks.standing(0) == Standing(10, 10, 0)
    assert task.checks.standing(3) == Standing(0, 0, 10)
    later = [task.judge(number)[0] for number in range(11, 41)]
    assert any(taken.weight < 1 for taken in later), "not checked each time any more"
    assert all(taken.trusted for taken in later)


def test_colluding_verifiers_pass_each_other_s_results_now_and_then(tmp_path: Path) -> None:
    task = Task(tmp_path, colluding=True)

    found = [task.judge(number) for number in range(1, 21)]

    passed = [sum(author in taken for taken in found) for author in range(5)]
    assert min(passed[:3]) > 13, "an honest result needs one honest verifier of two"
    assert 0 < max(passed[3:]) < len(found), "a false one a colluding first or second"
    assert task.checks.standing(3).invalid > 0


def test_a_task_goes_to_others_after_its_author_and_to_proven_ones_first(tmp_path: Path) -> None:
    checks = Task(tmp_path, colluding=False).checks
    checks.standings[2] = Standing(checks.policy.proven_after)

    orders = [list(checks.takers(0)) for _ in range(20)]

    assert all(order[:2] == [0, 2] for order in orders)
    assert all(len(set(order)) == ATTEMPTS for order in orders)
    assert len({tuple(order) for order in orders}) > 1, "whoever comes"


@pytest.mark.parametrize("verifies", [True, False])
def test_a_task_whose_result_is_found_wrong_is_trained_again(
    tmp_path: Path, verifies: bool
) -> None:
    """Of ten volunteers three send zeros: all ten tasks are merged, or the seven."""
    honest = np.random.default_rng(2).standard_normal((10, 64)).astype(np.float32)
    sent = honest.copy()
    sent[7:] = -honest[7:]
    draws = np.random.default_rng(0), np.random.default_rng(1)
    checks = Checks(10, frozenset({7, 8, 9}), False, *draws)
    defence = Defence("mean", False, screens=True, verifies=verifies)
    coordinator = Coordinator(tmp_path, np.zeros(64, np.float32), defence, 1e9, checks)

    coordinator.end_round(1, sent, honest)

    hostile = {7, 8, 9}.intersection(*coordinator.used)
    merged = honest if verifies else sent
    assert hostile == (set() if verifies else {7, 8, 9})
    assert np.allclose(coordinator.weights, plain_step(merged), atol=1e-6)


def plain_step(results: np.ndarray) -> np.ndarray:
    """The first Nesterov step from zeros towards the mean: learning rate and momentum of a run."""
    outer = Nesterov()
    return (1 + outer.momentum) * outer.lr * results.mean(axis=0)


def test_nobody_is_no_attack() -> None:
    from benchmarks.byzantine.attacks import ATTACKS

    assert NOBODY not in ATTACKS
