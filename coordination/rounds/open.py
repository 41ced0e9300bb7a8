"""Open a round: its units are the shards it trains, in rotation over the run's shards."""

from datetime import datetime, timedelta

from coordination.models import Round, Run, Unit


def open_round(run: Run, number: int, at: datetime) -> Round:
    """Create round ``number`` with its units. Call it inside the transaction that ends the last."""
    opened = begin_round(run, number, at)
    add_units(run, opened)
    return opened


def begin_round(run: Run, number: int, at: datetime) -> Round:
    """Create it without units."""
    deadline = at + timedelta(seconds=run.round_seconds)
    return Round.objects.create(run=run, number=number, opened_at=at, deadline_at=deadline)


def add_units(run: Run, round_: Round) -> None:
    """One unit of training for each shard of the round."""
    shards = shards_of(run, round_.number)
    Unit.objects.bulk_create(Unit(round=round_, shard=shard) for shard in shards)


def shards_of(run: Run, number: int) -> list[int]:
    first = (number - 1) * run.units_per_round
    return sorted((first + i) % run.shards for i in range(run.units_per_round))
