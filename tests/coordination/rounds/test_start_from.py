"""A run that goes on from another's snapshot."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from coordination.models import Run, Snapshot
from coordination.storage import snapshot_vector
from tests.coordination.making import TINY, vector, write_weights
from worker_client.contract.formats import load_format

pytestmark = pytest.mark.django_db
FMT = load_format(TINY)


def create(start_from: Path) -> None:
    options = {"format": TINY, "rounds": 2, "shards": 1, "seed": 3, "verbosity": 0}
    call_command("create_run", "after", start_from=start_from, **options)


def test_round_1_starts_from_the_weights_that_it_is_given(tmp_path, monkeypatch):
    weights = vector(8, FMT)
    write_weights(tmp_path / "last.safetensors", FMT, weights, {"tur": "7"})
    monkeypatch.chdir(tmp_path)
    create(Path("last.safetensors"))
    snapshot = Snapshot.objects.get(run__slug="after")
    stored = snapshot_vector(snapshot)
    assert stored.read(0, stored.count).tobytes() == weights.tobytes()
    assert (snapshot.number, Run.objects.get().seed) == (1, 3)
    assert b'"tur":"1"' in stored.path.read_bytes()[: snapshot.data_start]


@pytest.mark.parametrize("name", ["odd.safetensors", "missing.safetensors"])
def test_a_file_without_the_formats_weights_makes_no_run(name, tmp_path, capfd):
    (tmp_path / "odd.safetensors").write_bytes(b"no weights")
    with pytest.raises(CommandError, match="init-snapshot failed"):
        create(tmp_path / name)
    assert f"{name} cannot be read" in capfd.readouterr().err
    assert not Run.objects.exists()
