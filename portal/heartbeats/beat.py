"""What a heartbeat says, and what it may not say."""

import math
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from portal.models import MAX_ROUND, RunStatus

MAX_SEQ = 2**63 - 1
MAX_ROUNDS = 10**6
MAX_WORKERS = 10**6
MAX_LOSS = 1e4  # nats per token; a uniform guess over a million tokens is 14
MAX_SOFTWARE = 80


@dataclass(frozen=True)
class Beat:
    """One heartbeat.

    ``seq`` rises from beat to beat, over restarts too; the time in milliseconds does. ``loss`` is
    the newest published round's, in nats per token. What a coordinator does not know is None.

    Raises:
        ValidationError: names every field that is out of range.
    """

    seq: int
    status: str
    round: int | None = None
    rounds: int | None = None
    workers: int | None = None
    loss: float | None = None
    software: str = ""

    def __post_init__(self) -> None:
        checks = {
            "seq": _whole(self.seq, 1, MAX_SEQ),
            "status": _one_of(self.status),
            "round": self.round is None or _whole(self.round, 1, MAX_ROUND),
            "rounds": self.rounds is None or _whole(self.rounds, 1, MAX_ROUNDS),
            "workers": self.workers is None or _whole(self.workers, 0, MAX_WORKERS),
            "loss": self.loss is None or _finite(self.loss),
            "software": len(self.software) <= MAX_SOFTWARE and self.software.isprintable(),
        }
        if wrong := [name for name, right in checks.items() if not right]:
            raise ValidationError({name: REMEDIES[name]() for name in wrong})


def _whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _finite(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= MAX_LOSS


def _one_of(value: str) -> bool:
    return value in RunStatus.values


REMEDIES = {
    "seq": lambda: _("Send a whole number from 1 that rises from beat to beat."),
    "status": lambda: _("Send one of %(values)s.") % {"values": ", ".join(RunStatus.values)},
    "round": lambda: _("Send a whole number from 1 to %(most)s.") % {"most": MAX_ROUND},
    "rounds": lambda: _("Send a whole number from 1 to %(most)s.") % {"most": MAX_ROUNDS},
    "workers": lambda: _("Send a whole number from 0 to %(most)s.") % {"most": MAX_WORKERS},
    "loss": lambda: _("Send a finite number from 0 to %(most)s.") % {"most": MAX_LOSS},
    "software": lambda: _("Send at most %(most)s printable characters.") % {"most": MAX_SOFTWARE},
}
