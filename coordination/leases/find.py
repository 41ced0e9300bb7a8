"""Find the lease that a request proves it holds."""

from coordination.leases.keys import matches
from coordination.models import Lease, Run, Worker
from coordination.workers.welcome import demand_welcome
from worker_client.contract.errors import Refusal, Refused


def find_lease(run: Run, token: str, key: str, caller: Worker | None = None) -> Lease:
    """The lease ``token`` of ``run``, with unit, round and worker loaded.

    The key is the proof. A worker's token, where it is shown too (``caller``), must be its
    holder's; a lease taken without a token may be brought home by somebody who has one now.

    Raises:
        Refused: LEASE_UNKNOWN, LEASE_KEY_INVALID, TOKEN_MISMATCH, or as ``demand_welcome``.
    """
    leases = Lease.objects.select_related("unit__round", "worker")
    lease = leases.filter(unit__round__run=run, token=token).first()
    if lease is None:
        raise Refused(Refusal.LEASE_UNKNOWN, "no such task here; ask for a new one")
    if not matches(key, lease.key_digest):
        raise Refused(Refusal.LEASE_KEY_INVALID, "this key does not belong to this task")
    holder = lease.worker
    if caller and holder.is_registered and caller != holder:
        raise Refused(Refusal.TOKEN_MISMATCH, f"this task is {holder.name}'s, not {caller.name}'s")
    demand_welcome(run, holder)
    return lease
