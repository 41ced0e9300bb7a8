"""Find the lease that a request proves it holds."""

from coordination.leases.keys import matches
from coordination.models import Lease, Run
from worker_client.contract.errors import Refusal, Refused


def find_lease(run: Run, token: str, key: str) -> Lease:
    """The lease ``token`` of ``run``, with unit, round and worker loaded.

    Raises:
        Refused: LEASE_UNKNOWN or LEASE_KEY_INVALID.
    """
    leases = Lease.objects.select_related("unit__round", "worker")
    lease = leases.filter(unit__round__run=run, token=token).first()
    if lease is None:
        raise Refused(Refusal.LEASE_UNKNOWN, "no such task here; ask for a new one")
    if not matches(key, lease.key_digest):
        raise Refused(Refusal.LEASE_KEY_INVALID, "this key does not belong to this task")
    return lease
