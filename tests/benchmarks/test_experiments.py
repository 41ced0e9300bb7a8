"""The committed experiments can be read, and their numbers be reached at all."""

from pathlib import Path

import pytest

from modelen_site.experiments.plan import read_plan
from worker_client.contract.encodings import CODECS, encoded_bytes
from worker_client.contract.formats import load_format
from worker_client.contract.wire import RAW_ENCODING

FILES = sorted((Path(__file__).parents[2] / "benchmarks/experiments").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_committed_experiment_is_a_plan_of_its_name(path):
    assert read_plan(path).name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bars_on_bytes_are_within_what_the_encodings_can_do(path):
    """Of a round's exchanges, as many gradients as it has steps."""
    plan = read_plan(path)
    count = load_format(plan.format).parameters

    def size(name):
        return 4 * count if name == RAW_ENCODING else encoded_bytes(CODECS[name], count)

    for bar in plan.bars:
        if bar.at_least_times is not None:
            of = plan.find(bar.of)
            times = 8 * count * of.inner_steps / (size(of.up) + size(of.down))
            assert times > 1.05 * bar.at_least_times
