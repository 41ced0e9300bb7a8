"""Losses by language, as lines and in a table that names them."""

import pytest

from coordination.clock import now
from coordination.live.chart import LOOKS, lines_chart
from coordination.live.held_out import MOST_POINTS, losses_chart, newest_losses
from coordination.models import (
    Evaluation,
    HeldOut,
    Lease,
    Result,
    Round,
    Run,
    Snapshot,
    Unit,
    Worker,
)
from tests.coordination.live.test_metrics import registry, samples
from tests.coordination.live.test_snapshot import _publish
from tests.coordination.making import make_run

__all__ = ["registry"]  # a fixture

LANGUAGES = ("de", "tr")


def test_no_line_no_chart():
    assert lines_chart({}) is None


def test_lines_share_their_axes():
    drawn = lines_chart({"de": [(1, 4.0), (3, 2.0)], "tr": [(2, 3.0)]})
    assert drawn is not None
    assert [line["path"] for line in drawn["lines"]] == [
        "M0.0 0.0 L100.0 100.0",
        "M50.0 50.0 L50.0 50.0",
    ]
    assert [line["look"] for line in drawn["lines"]] == ["trace look-0", "trace look-1"]
    assert [tick["value"] for tick in drawn["x_ticks"]] == [1, 2, 3]


def test_looks_begin_again_when_they_are_used_up():
    drawn = lines_chart({f"l{n}": [(1, 1.0)] for n in range(LOOKS + 1)})
    assert drawn is not None and drawn["lines"][LOOKS]["look"] == drawn["lines"][0]["look"]


def some_lease(run: Run) -> Lease:
    unit = Unit.objects.create(round=Round.objects.get(run=run, number=1), shard=0)
    worker = Worker.objects.create(run=run, name="ada")
    times = {"granted_at": now(), "expires_at": now()}
    return Lease.objects.create(token="t", unit=unit, worker=worker, address="127.0.0.1", **times)


def drawn(run: Run) -> list[dict]:
    chart = losses_chart(run)
    assert chart is not None
    return chart["lines"]


@pytest.fixture
def measured(tmp_path):
    """A run whose snapshots were measured in two languages; the loss falls to the first's half."""
    run = make_run(tmp_path, languages=LANGUAGES)

    def measure(rounds: int):
        _publish(run, range(1, rounds + 1))
        lease = some_lease(run)
        for held_out in HeldOut.objects.filter(run=run):
            for snapshot in Snapshot.objects.filter(run=run):
                sha256 = f"{held_out.pk:032x}{snapshot.pk:032x}"
                fields = {"sha256": sha256, "size": 1, "state": Result.State.USED}
                result = Result.objects.create(lease=lease, unit=lease.unit, **fields)
                loss = 4.0 - 2.0 * (snapshot.number - 1) / rounds
                kept = {"result": result, "loss": loss + (held_out.language == "tr")}
                Evaluation.objects.create(snapshot=snapshot, held_out=held_out, **kept)
        return run

    return measure


@pytest.mark.django_db
def test_a_line_for_each_language_and_the_same_look_in_the_table(measured):
    run = measured(3)
    lines, table = drawn(run), newest_losses(run)
    assert [(line["name"], line["look"]) for line in lines] == [
        (row["language"], row["look"]) for row in table
    ]
    assert [line["path"].count(" ") for line in lines] == [4 + 3, 4 + 3]
    assert [row["loss"] for row in table] == [2.0, 3.0]


@pytest.mark.django_db
def test_a_long_run_is_drawn_with_a_bounded_number_of_points(measured):
    lines = drawn(measured(400))
    assert MOST_POINTS / 2 < sum(line["path"].count("L") + 1 for line in lines) <= MOST_POINTS + 2


@pytest.mark.django_db
def test_nothing_measured_nothing_drawn(tmp_path, client):
    run = make_run(tmp_path, languages=LANGUAGES)
    assert losses_chart(run) is None and newest_losses(run) == []


@pytest.mark.django_db
def test_page_json_and_metrics_tell_the_newest_loss_of_each_language(measured, client, registry):
    run = measured(3)
    page = client.get(f"/c/{run.slug}/").content.decode()
    assert page.count('class="trace look-1"') == 2, "the line, and the swatch beside its name"
    told = client.get(f"/c/{run.slug}/pano").json()["held_out"]
    newest = {loss["language"]: loss["loss"] for loss in told if loss["number"] == 4}
    assert newest == {"de": 2.0, "tr": 3.0}
    metrics = samples(registry)
    assert metrics["modelen_run_held_out_loss", "tr", "tiny"] == 3.0
    held_out = HeldOut.objects.get(language="tr")
    bits = metrics["modelen_run_held_out_bits_per_byte", "tr", "tiny"]
    assert bits == pytest.approx(held_out.bits_per_byte(3.0))
