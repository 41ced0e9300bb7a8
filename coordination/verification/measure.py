"""What is measured of a result besides held-out text."""

from django.conf import settings

from coordination.models import Run, Unit
from coordination.trust.policy import draw


def shards_to_measure(run: Run, unit: Unit) -> list[int]:
    """The shard that the unit's target was trained on and one drawn by lot; none where the run
    serves no data or has one shard only."""
    if not run.serves_data or run.shards < 2:
        return []
    secret = settings.LEASE_SECRET + f":measures:{run.pk}".encode()
    ahead = 1 + int(draw(secret, unit.pk) * (run.shards - 1))
    return [unit.shard, (unit.shard + ahead) % run.shards]
