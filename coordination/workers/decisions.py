"""What a person may decide about a worker, as things to offer: a title and the verb behind."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from coordination.workers.approve import approve_worker
from coordination.workers.block import block_worker
from coordination.workers.pause import pause_worker
from coordination.workers.unblock import unblock_worker


@dataclass(frozen=True)
class Decision:
    """``verb(worker, reason, actor)`` is False when the worker's state does not allow it."""

    title: str | Promise
    verb: Callable[..., bool]
    needs_reason: bool = False


DECISIONS = {
    "approve": Decision(_("Approve the selected workers"), approve_worker),
    "pause": Decision(_("Pause the selected workers"), pause_worker, needs_reason=True),
    "block": Decision(_("Block the selected workers"), block_worker, needs_reason=True),
    "unblock": Decision(_("Let the selected workers in again"), unblock_worker),
}
