"""Measure what a round took, by what is remembered of its tasks, results and checks."""

from django.db.models import Count, Q, Sum, Value
from django.db.models.functions import Coalesce

from coordination.live.counts import STANDING
from coordination.models import Check, Lease, Result, Round, RoundTally, Unit
from coordination.results.tokens import credited_tokens

ON_CPU = Q(device__istartswith="cpu")  # as the volunteer's program calls it; a GPU has a name
FOUND_VALID = (Check.State.VALID, Check.State.PLAUSIBLE)
FOUND_INVALID = (Check.State.INVALID, Check.State.IMPLAUSIBLE)
UNVERIFIED = (Check.State.UNDECIDED, Check.State.LATE, Check.State.WAIVED)


def measure(round_: Round) -> dict[str, int]:
    """The fields of the round's ``RoundTally`` that are not counted as they come."""
    took_a_task = Lease.objects.filter(unit__round=round_).values("worker").distinct()
    return {"workers": took_a_task.count()} | _of_results(round_) | _of_checks(round_)


def keep_measures(round_: Round) -> None:
    """Write them down, in the transaction that publishes the round; after it they stay."""
    RoundTally.objects.update_or_create(round=round_, defaults=measure(round_))


def _of_results(round_: Round) -> dict[str, int]:
    said = credited_tokens(round_.run, "tokens")
    trained, refused = Q(unit__job=Unit.Job.TRAIN), Q(state=Result.State.REFUSED)
    on_gpu = ~ON_CPU & ~Q(device="")
    return Result.objects.filter(unit__round=round_).aggregate(
        tokens=Coalesce(Sum(said, filter=trained & Q(state__in=STANDING)), Value(0)),
        cpu_workers=Count("lease__worker", distinct=True, filter=~refused & ON_CPU),
        gpu_workers=Count("lease__worker", distinct=True, filter=~refused & on_gpu),
        refused=Count("pk", filter=trained & refused),
    )


def _of_checks(round_: Round) -> dict[str, int]:
    return Check.objects.filter(result__unit__round=round_).aggregate(
        checks_valid=Count("pk", filter=Q(state__in=FOUND_VALID)),
        checks_invalid=Count("pk", filter=Q(state__in=FOUND_INVALID)),
        checks_unverified=Count("pk", filter=Q(state__in=UNVERIFIED)),
    )
