"""Who may check a result: neither its author nor anybody from an address that had a say in it."""

from datetime import timedelta
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from coordination.clock import now
from coordination.models import Lease, Result, Round, Run, Unit, Worker
from worker_client.contract.encodings import CODECS
from worker_client.contract.wire import Job, LeaseRequest

# An idle worker asks for work at least once a minute, a busy one holds a lease.
HEARD_LATELY = timedelta(minutes=2)


def involved(result: Result) -> QuerySet[Lease]:
    """The lease that brought ``result``, and those that brought what others found of it."""
    checked = Q(unit__target=result, state=Lease.State.DELIVERED)
    return Lease.objects.filter(Q(pk=result.lease_id) | checked)


def verifiers(result: Result) -> QuerySet[Worker]:
    """Workers that are there, offer to verify, and may repeat ``result``."""
    return _others(result).filter(verifies=True)


def evaluators(result: Result) -> QuerySet[Worker]:
    """Workers that are there, offer to evaluate, and may measure ``result``."""
    return _others(result).filter(evaluates=True)


def checkers(result: Result) -> QuerySet[Worker]:
    """Who may do the work that was asked for last to check ``result``."""
    asked = Unit.objects.filter(target=result).order_by("pk").last()
    measured = asked is not None and asked.job == Unit.Job.EVALUATE
    return evaluators(result) if measured else verifiers(result)


def _others(result: Result) -> QuerySet[Worker]:
    there = Q(last_seen_at__gte=now() - HEARD_LATELY) | Q(lease__state=Lease.State.LIVE)
    parties = involved(result)
    barred = Worker.objects.filter(unit__target=result)
    return (
        Worker.objects.filter(there, run=result.unit.round.run_id)
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


def pick_check(current: Round, worker: Worker, address: str, request: LeaseRequest) -> Unit | None:
    """The oldest check of the round that ``worker``, at ``address``, may make: a repetition in
    the encoding of what is to be repeated, or a measurement."""
    mine = Lease.objects.filter(Q(worker=worker) | Q(address=address), unit__round=current)
    free = Unit.objects.filter(round=current, target__isnull=False, state=Unit.State.FREE)
    checked = Result.objects.filter(
        jobs__lease__in=mine.filter(state=Lease.State.DELIVERED, unit__target__isnull=False)
    )
    may = free.filter(_offered(request)).exclude(barred=worker).exclude(target__lease__in=mine)
    return may.exclude(target__in=checked).order_by("pk").first()


def _offered(request: LeaseRequest) -> Q:
    repeats = Q(job=Unit.Job.VERIFY, target__lease__encoding__in=request.encodings)
    kinds = {Job.VERIFY: repeats, Job.EVALUATE: Q(job=Unit.Job.EVALUATE)}
    return reduce(or_, (kinds[job] for job in kinds if job in request.jobs), Q(pk__in=[]))
