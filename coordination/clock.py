"""The one clock: aware UTC. Tests move time by patching ``now`` here."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
