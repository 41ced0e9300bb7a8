import pytest

from coordination import traffic
from coordination.models import Run

pytestmark = pytest.mark.django_db


def test_bytes_are_gathered_and_written_together(run, monkeypatch):
    monkeypatch.setattr(traffic, "FLUSH_SECONDS", 3600.0)  # however slow the machine is
    traffic.flush()  # what other tests' runs of the same id have left
    before = Run.objects.get(pk=run.pk)
    traffic.count(run.pk, up=3)
    traffic.count(run.pk, up=4, down=10)
    assert Run.objects.get(pk=run.pk).bytes_up == before.bytes_up, "not yet due"
    traffic.flush()
    traffic.flush()
    stored = Run.objects.get(pk=run.pk)
    assert stored.bytes_up - before.bytes_up == 7
    assert stored.bytes_down - before.bytes_down == 10
    assert stored.version > before.version, "watchers hear of it"
