"""What losses say of a result, without a coordinator."""

import pytest

from coordination.verification.gains import LEAST_OWN_GAIN, MOST_HARM, Gains


def _gains(held_out: float, own: float, other: float) -> Gains:
    """Of a result after which these are the losses, all of which were 4 before."""
    return Gains.of([4.0, held_out, 4.0, own, 4.0, other])


def test_pairs_are_before_and_after():
    assert Gains.of([4, 3, 5, 3, 6, 5]) == Gains(harm=-0.25, own=2, other=1)
    assert Gains.of([4, 5]) == Gains(harm=0.25, own=None, other=None)


@pytest.mark.parametrize(
    ("held_out", "own", "other", "plausible"),
    [
        (3.8, 3.5, 3.6, True),  # honest
        (3.8, 3.6, 3.5, True),  # shards alike: which gains more is chance
        (4.1, 3.5, 4.2, True),  # one language a shard
        (4.0, 4.0, 4.0, False),  # nothing done
        (4.2, 4.5, 4.4, False),  # the sign turned
        (3.8, 3.9, 3.5, False),  # another shard trained
        (4.8, 3.5, 3.6, False),  # held-out text ruined
        (1e6, 1e6, 1e6, False),
    ],
)
def test_verdicts(held_out, own, other, plausible):
    assert _gains(held_out, own, other).are_plausible is plausible


def test_the_tolerances_are_where_they_are_said_to_be():
    edge = 4 - LEAST_OWN_GAIN
    assert _gains(4, edge - 0.001, 3).are_plausible
    assert not _gains(4, edge + 0.001, 3).are_plausible
    assert _gains(4 * (1 + MOST_HARM) - 0.001, 3, 3).are_plausible
    assert not _gains(4 * (1 + MOST_HARM) + 0.001, 3, 3).are_plausible


@pytest.mark.parametrize(("held_out", "plausible"), [(3.9, True), (4.3, True), (4.5, False)])
def test_without_served_data_only_harm_counts(held_out, plausible):
    assert Gains.of([4.0, held_out]).are_plausible is plausible
