"""Owning the worker's name at a coordinator that keeps names."""

from dataclasses import dataclass

from worker_client.client import coordinator
from worker_client.contract import wire
from worker_client.display import events
from worker_client.loop.task import Bench


@dataclass(frozen=True)
class Identity:
    """``registers`` False: work without a token. ``listed`` None: leave the choice to stand on the
    leaderboard as the coordinator knows it. ``takes_over``: this computer goes on as the name, and
    another one with a copy of the state folder will be refused."""

    name: str
    state_dir: str
    registers: bool = True
    listed: bool | None = None
    takes_over: bool = False


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
    if identity.takes_over:
        _take_over(bench, identity.name)
    approved = standing == wire.Standing.APPROVED
    bench.display.show(events.Registered(identity.name, approved))
    return approved


def _take_over(bench: Bench, name: str) -> None:
    """Count on from where the coordinator is, which may be ahead of an old copy of the folder."""
    heard = bench.patience.call(lambda: coordinator.receipts(bench.link)).sequence
    bench.state.take_over(name, heard or 0)
