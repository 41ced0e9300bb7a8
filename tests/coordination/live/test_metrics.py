"""What Prometheus is told of the runs."""

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from coordination.clock import now
from coordination.live.metrics import KINDS, metrics
from coordination.models import RefusalCount, Run
from tests.coordination.live.test_snapshot import _publish
from tests.coordination.making import WorkerOf, make_run

pytestmark = pytest.mark.django_db


class Told(Collector):
    def collect(self):
        return metrics()


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Told())
    return registry


def samples(registry: CollectorRegistry) -> dict[tuple[str, ...], float]:
    """Values by name and labels, as Prometheus would read them."""
    text = generate_latest(registry).decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_run_is_told_in_every_kind(run, registry):
    WorkerOf(run, "ada").lease()
    _publish(run, range(1, 4))
    RefusalCount.objects.create(run=run, code="mesgul", count=7)
    Run.objects.update(bytes_up=11, bytes_down=12)
    told = samples(registry)
    assert told["modelen_run_phase", "training", "tiny"] == 1
    assert told["modelen_run_phase", "paused", "tiny"] == 0
    assert told["modelen_run_round", "tiny"] == 3
    assert told["modelen_run_rounds", "tiny"] == 3
    assert told["modelen_run_workers", "tiny"] == 1
    assert told["modelen_run_loss", "tiny"] == 3.0
    assert told["modelen_run_results", "tiny", "refused"] == 0
    assert told["modelen_run_checks", "valid", "tiny"] == 9
    assert told["modelen_run_snapshot_info", "4", "tiny", f"{4:064x}"] == 1
    assert told["modelen_run_tokens_total", "tiny"] == 900 + 1800 + 2700
    assert told["modelen_run_bytes_total", "up", "tiny"] == 11
    assert told["modelen_run_bytes_total", "down", "tiny"] == 12
    assert told["modelen_run_expired_leases_total", "tiny"] == 3
    assert told["modelen_run_refusals_total", "mesgul", "tiny"] == 7
    families = {family.name for family in metrics()}
    assert families == {kind.name for kind in KINDS}


def test_what_is_unknown_is_left_out(run, registry):
    told = samples(registry)
    assert ("modelen_run_loss", "tiny") not in told
    assert told["modelen_run_tokens_total", "tiny"] == 0


def test_counters_never_fall_when_a_round_is_published(run, registry, play_round):
    def counters() -> dict:
        return {key: value for key, value in samples(registry).items() if "_total" in key[0]}

    before = counters()
    for _ in range(2):
        play_round(run, 2.5)
        after = counters()
        assert before.keys() <= after.keys()
        assert all(after[key] >= value for key, value in before.items())
        before = after


def test_runs_long_over_are_not_told(run, tmp_path, registry):
    make_run(tmp_path, "recent")
    finished = {"state": Run.State.FINISHED}
    Run.objects.filter(slug="tiny").update(finished_at=now() - timedelta(days=2), **finished)
    Run.objects.filter(slug="recent").update(finished_at=now() - timedelta(hours=2), **finished)
    slugs = {sample.labels["run"] for family in metrics() for sample in family.samples}
    assert slugs == {"recent"}


def test_every_kind_obeys_the_format(run, registry):
    """OpenMetrics is the stricter one."""
    _publish(run, range(1, 4))
    families = list(parse_openmetrics(generate_openmetrics(registry).decode()))
    assert len(families) == len(KINDS)
    assert all(isinstance(family, Metric) and family.documentation for family in families)
