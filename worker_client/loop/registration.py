"""Owning the worker's name at a coordinator that keeps names."""

from dataclasses import dataclass

from worker_client.client import coordinator
from worker_client.contract import wire
from worker_client.display import events
from worker_client.loop.task import Bench


@dataclass(frozen=True)
class Identity:
    """``registers`` False: work without a token. ``listed`` None: leave the choice to stand on the
    leaderboard as the coordinator knows it."""

    name: str
    state_dir: str
    registers: bool = True
    listed: bool | None = None


def register(bench: Bench, identity: Identity) -> bool:
    """Register the name, now or again; whether its work is welcome at once.

    From then on every request shows the token, also after a restart of the coordinator.

    Raises:
        Final: the name is somebody else's, or the worker is blocked.
    """
    if not identity.registers:
        return True
    token = bench.state.pseudonym(identity.name).token
    asked = wire.Registration(worker=identity.name, token=token, listed=identity.listed)
    standing = bench.patience.call(lambda: coordinator.register(bench.link, asked))
    if standing is None:
        return True
    bench.link.token = token
    approved = standing == wire.Standing.APPROVED
    bench.display.show(events.Registered(identity.name, approved))
    return approved
