"""What programs may read of a listed coordinator, free of language."""

from typing import Any

from portal.heartbeats.uptime import uptime_90
from portal.models import Coordinator


def public_status(coordinator: Coordinator) -> dict[str, Any]:
    """Times are ISO 8601 in UTC, the uptime a share from 0 to 1; what is not known is null."""
    uptime = uptime_90(coordinator)
    return {
        "slug": coordinator.slug,
        "name": coordinator.name,
        "address": coordinator.address,
        "proof": coordinator.proof,
        "verified_at": _iso(coordinator.verified_at),
        "presence": coordinator.presence,
        "status": coordinator.run_status or None,
        "round": coordinator.round,
        "rounds": coordinator.rounds,
        "workers": coordinator.workers,
        "loss": coordinator.loss,
        "software": coordinator.software or None,
        "heartbeat_at": _iso(coordinator.heartbeat_at),
        "uptime_90_days": None if uptime is None else round(uptime, 4),
    }


def _iso(moment: Any) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
