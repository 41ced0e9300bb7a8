"""Who may repeat a result: neither its author nor anybody from an address that had a say in it."""

from datetime import timedelta

from django.db.models import Q, QuerySet

from coordination.clock import now
from coordination.models import Lease, Result, Round, Run, Unit, Worker
from worker_client.contract.encodings import CODECS

# An idle worker asks for work at least once a minute, a busy one holds a lease.
HEARD_LATELY = timedelta(minutes=2)


def involved(result: Result) -> QuerySet[Lease]:
    """The lease that brought ``result``, and those that brought repetitions of it."""
    repeated = Q(unit__target=result, unit__job=Unit.Job.VERIFY, state=Lease.State.DELIVERED)
    return Lease.objects.filter(Q(pk=result.lease_id) | repeated)


def verifiers(result: Result) -> QuerySet[Worker]:
    """Workers that are there, offer to verify, and may repeat ``result``."""
    there = Q(last_seen_at__gte=now() - HEARD_LATELY) | Q(lease__state=Lease.State.LIVE)
    parties = involved(result)
    barred = Worker.objects.filter(unit__target=result, unit__job=Unit.Job.VERIFY)
    return (
        Worker.objects.filter(there, run=result.unit.round.run_id, verifies=True)
        .filter(state=Worker.State.APPROVED)
        .exclude(pk__in=parties.values("worker"))
        .exclude(address__in=parties.values("address"))
        .exclude(pk__in=barred)
        .distinct()
    )


def can_be_repeated(run: Run, result: Result) -> bool:
    """Whether its task says all that it depends on: served data, and an encoding without memory."""
    codec = CODECS.get(result.lease.encoding)
    return run.serves_data and not (codec and codec.feeds_back)


def pick_check(current: Round, worker: Worker, address: str, encodings: list[str]) -> Unit | None:
    """The oldest check of the round that ``worker``, at ``address``, may make in the encoding
    of what is to be repeated."""
    mine = Lease.objects.filter(Q(worker=worker) | Q(address=address), unit__round=current)
    free = Unit.objects.filter(round=current, job=Unit.Job.VERIFY, state=Unit.State.FREE)
    repeated = Result.objects.filter(
        jobs__lease__in=mine.filter(state=Lease.State.DELIVERED, unit__job=Unit.Job.VERIFY)
    )
    free = free.filter(target__lease__encoding__in=encodings)
    may = free.exclude(barred=worker).exclude(target__lease__in=mine)
    return may.exclude(target__in=repeated).order_by("pk").first()
