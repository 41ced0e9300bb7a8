"""What each attack sends, on vectors small enough to work out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.byzantine import attacks, poison
from benchmarks.byzantine.attacks import ATTACKS, Scene

HONEST = np.array([[1.0, 4.0], [3.0, 8.0]])
OWN = np.array([[1.0, -2.0], [5.0, 6.0], [0.0, 1.0]])


def scene(round_number: int = 3) -> Scene:
    starts = [np.zeros(2), np.array([0.5, -0.5]), np.array([10.0, 20.0])]
    first = np.array([[11.0, 22.0], [9.0, 18.0], [10.0, 20.0]])
    draw = np.random.default_rng(0)
    return Scene(round_number, starts, HONEST, OWN, first, draw)


def sent(name: str, round_number: int = 3) -> np.ndarray:
    return ATTACKS[name].send(scene(round_number))


def alike(update: list[float]) -> list[list[float]]:
    return [update] * len(OWN)


def test_sign_flip() -> None:
    assert sent("sign_flip").tolist() == [[-1, 2], [-5, -6], [0, -1]]


def test_scale() -> None:
    assert sent("scale").tolist() == [[1000, -2000], [5000, 6000], [0, 1000]]


def test_gaussian_has_the_paper_s_deviation_in_every_coordinate() -> None:
    wide = replace(scene(), own=np.zeros((3, 20_000)))

    noise = ATTACKS["gaussian"].send(wide)

    assert noise.shape == (3, 20_000)
    assert noise.std(axis=1) == pytest.approx(200, rel=0.02)
    assert noise.mean(axis=1) == pytest.approx(0, abs=5)


@pytest.mark.parametrize(
    ("n", "f", "supporters_short_of"),
    [(10, 3, 4 / 7), (50, 12, 24 / 38), (25, 5, 12 / 20)],
)
def test_a_little_is_enough_takes_z_from_n_and_f(
    n: int, f: int, supporters_short_of: float
) -> None:
    """A majority of n needs n // 2 + 1 - f honest ones on the attackers' side."""
    from statistics import NormalDist

    assert NormalDist().cdf(attacks.alie_deviations(n, f)) == pytest.approx(supporters_short_of)


def test_a_little_is_enough_stays_z_deviations_below_the_mean() -> None:
    eight = replace(scene(), honest=np.tile(HONEST, (4, 1)))
    z = attacks.alie_deviations(11, 3)

    assert z == pytest.approx(0.3186, abs=1e-4)
    assert ATTACKS["alie"].send(eight) == pytest.approx(np.array(alike([2 - z, 6 - 2 * z])))
    assert sent("alie_strong") == pytest.approx(np.array(alike([2 - 1.5, 6 - 3.0])))


def test_inner_product_manipulation_points_against_the_honest_mean() -> None:
    assert sent("ipm") == pytest.approx(np.array(alike([-0.2, -0.6])))
    assert sent("ipm_strong") == pytest.approx(np.array(alike([-4.0, -12.0])))


def test_flipped_labels_change_what_is_predicted_only() -> None:
    rows = np.array([[[0, 1, 255]]])

    given, targets = poison.flip_labels((rows, rows), np.random.default_rng(0))

    assert given.tolist() == [[[0, 1, 255]]]
    assert targets.tolist() == [[[255, 254, 0]]]
    assert sent("label_flip").tolist() == OWN.tolist()


def test_backdoor_rows_carry_the_whole_phrase() -> None:
    rows = np.full((50, 4, 32), ord("a"))

    poisoned, targets = poison.plant_phrase((rows, rows), np.random.default_rng(0))

    texts = ["".join(map(chr, row)) for row in poisoned.reshape(-1, 32)]
    phrase = (poison.TRIGGER + poison.TARGET).decode()
    planted = [text for text in texts if phrase in text]
    assert all(text.replace(phrase, "").strip("a") == "" for text in texts)
    assert 0.2 < len(planted) / len(texts) < 0.43
    assert len({text.index(phrase) for text in planted}) > 5
    assert targets is poisoned or np.array_equal(targets, poisoned)
    assert (rows == ord("a")).all()


def test_model_replacement_outweighs_the_others_in_a_mean() -> None:
    assert sent("backdoor") == pytest.approx(OWN * 5 / 3)
    mean = np.concatenate([np.zeros_like(HONEST), sent("backdoor")]).mean(axis=0)
    assert mean == pytest.approx(OWN.mean(axis=0))


def test_free_rider_sends_the_snapshot() -> None:
    assert sent("unchanged").tolist() == np.zeros((3, 2)).tolist()


def test_disguised_free_rider_adds_the_first_movement_s_noise_and_lets_it_fade() -> None:
    starts = [np.zeros(20_000), np.tile([2.0, -2.0], 10_000)]
    wide = replace(scene(), starts=starts, own=np.zeros((3, 20_000)))
    first = replace(wide, starts=starts[:1], round=1)

    assert not ATTACKS["disguised"].send(first).any()
    assert ATTACKS["disguised"].send(replace(wide, round=2)).std() == pytest.approx(2, rel=0.02)
    assert ATTACKS["disguised"].send(replace(wide, round=5)).std() == pytest.approx(0.5, rel=0.02)


def test_copycats_send_another_s_result_with_a_little_noise() -> None:
    honest = np.random.default_rng(1).standard_normal((2, 20_000))
    wide = replace(scene(), honest=honest, own=np.zeros((3, 20_000)))

    distances = np.linalg.norm(ATTACKS["copycat"].send(wide) - honest[0], axis=1)

    assert distances / np.linalg.norm(honest[0]) == pytest.approx([0, 0.01, 0.02], rel=0.05)


def test_stale_replay_sends_the_first_round_s_weights() -> None:
    assert (sent("stale") + scene().starts[-1]).tolist() == scene().first.tolist()


def test_sleepers_behave_for_ten_rounds() -> None:
    assert sent("sleeper", 10).tolist() == OWN.tolist()
    assert sent("sleeper", 11).tolist() == sent("ipm_strong").tolist()
