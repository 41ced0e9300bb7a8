"""The recipe's known answers from the coordinator's side: it makes round 1's snapshot."""

import hashlib

import pytest
from django.core.management import call_command

from coordination.models import Snapshot
from coordination.storage import snapshot_vector
from worker_client.contract.vectors import load_vectors

pytestmark = pytest.mark.django_db


def test_the_first_snapshot_is_the_known_one():
    known = load_vectors("v1")["initial_snapshot"]
    options = {"format": known["bicim"], "seed": known["tohum"], "rounds": 1, "shards": 1}
    call_command("create_run", "known", **options, verbosity=0)
    stored = snapshot_vector(Snapshot.objects.get(run__slug="known"))
    values = stored.read(0, stored.count)
    assert values[:4].tolist() == pytest.approx(known["first_values"])
    assert hashlib.sha256(values.tobytes()).hexdigest() == known["sha256"]
