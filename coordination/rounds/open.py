"""Open a round: its units are the shards it trains, in rotation over the run's shards."""

from datetime import datetime, timedelta

from coordination.models import Round, Run, Unit


def open_round(run: Run, number: int, at: datetime) -> Round:
    """Create round ``number`` with its units. Call it inside the transaction that ends the last."""
    deadline = at + timedelta(seconds=run.round_seconds)
    opened = Round.objects.create(run=run, number=number, opened_at=at, deadline_at=deadline)
    Unit.objects.bulk_create(Unit(round=opened, shard=shard) for shard in shards_of(run, number))
    return opened


def shards_of(run: Run, number: int) -> list[int]:
    first = (number - 1) * run.units_per_round
    return sorted((first + i) % run.shards for i in range(run.units_per_round))
