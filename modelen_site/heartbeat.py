"""What a run's heartbeat says, and how it reaches a portal: this one, or another over HTTP.

Runs and listings do not know each other; here they meet by the address.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.db.models import Q
from django.http.request import validate_host

from coordination.live.status import status
from coordination.models import Run
from portal.heartbeats.beat import Beat
from portal.heartbeats.receive import receive
from portal.models import Coordinator, State
from worker_client.version import VERSION

SOFTWARE = f"modelen/{VERSION}"
PATH = re.compile(r"/c/([\w-]+)/?")
TIMEOUT_S = 10.0


def beat_of(run: Run, seq: int) -> Beat:
    """The run's state, with the loss of its newest published round."""
    seen = status(run, limit=1)
    loss = seen.history[-1].loss if seen.history else None
    return Beat(
        seq, seen.state.value, seen.round, seen.rounds, seen.workers, loss, software=SOFTWARE
    )


def send_own() -> None:
    """A heartbeat for every run here whose address an approved coordinator of this portal has."""
    for coordinator in _on_our_hosts():
        slug = own_run(coordinator.address)
        if slug and (run := Run.objects.filter(slug=slug).first()):
            receive(coordinator, beat_of(run, coordinator.heartbeat_seq + 1))


def _on_our_hosts() -> Iterable[Coordinator]:
    """Few of a portal's many; ``own_run`` looks at them more closely."""
    mentioned = [Q(address__contains=host.lstrip(".")) for host in _own_hosts()]
    if not mentioned:
        return []
    approved = Coordinator.objects.filter(state=State.APPROVED, address__contains="/c/")
    return approved.filter(reduce(or_, mentioned))


def own_run(address: str) -> str | None:
    """The slug of the run that this server has at the address, if the address is this server's."""
    parts = urlsplit(address)
    found = PATH.fullmatch(parts.path)
    return found[1] if found and validate_host(_host(parts.hostname), _own_hosts()) else None


def _own_hosts() -> list[str]:
    """Without "*", which would make every other coordinator's address ours."""
    return [host for host in settings.ALLOWED_HOSTS if host != "*"]


def _host(name: str | None) -> str:
    return f"[{name}]" if name and ":" in name else name or ""


@dataclass(frozen=True)
class Portal:
    """Another server's portal, where this server's coordinator is listed under ``slug``."""

    url: str
    slug: str
    key: str

    def send(self, beat: Beat) -> float:
        """Send a heartbeat; returns in how many seconds the portal wants the next.

        Raises:
            requests.RequestException: no answer, or a refusal.
        """
        answer = requests.put(
            f"{self.url.rstrip('/')}/api/v1/coordinators/{self.slug}/heartbeat",
            json=vars(beat),
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=TIMEOUT_S,
            allow_redirects=False,
        )
        answer.raise_for_status()
        return float(answer.json()["interval_s"])
