"""Workers whose tasks came to nothing get fewer for a while."""

from datetime import timedelta

from coordination.clock import now
from coordination.models import Lease, Worker
from coordination.trust.record import QUOTA
from worker_client.contract.errors import Refusal, Refused

WINDOW = timedelta(hours=1)
LONGEST_WAIT_S = 600


def check_quota(worker: Worker) -> None:
    """Raises Refused WORKER_BUSY when the worker has had its quota of the last hour.

    A worker without recent errors has its full quota and is not counted. Nor is a task from the
    future: the clock was set back since.
    """
    if worker.quota >= QUOTA.full:
        return
    around = (now() - WINDOW, now() + WINDOW)
    lately = Lease.objects.filter(worker=worker, granted_at__range=around)
    leases = list(
        lately.order_by("-granted_at").values_list("granted_at", flat=True)[: worker.quota]
    )
    if len(leases) < worker.quota:
        return
    wait = (leases[-1] + WINDOW - now()).total_seconds()
    raise Refused(
        Refusal.WORKER_BUSY,
        f"several of your tasks came to nothing, so your quota is {worker.quota} an hour for "
        "now; it doubles with every result that is accepted",
        retry_after=max(1, min(LONGEST_WAIT_S, int(wait) + 1)),
    )
