"""What a person may decide about a worker, as things to offer: a title and the verb behind."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from coordination.workers.approve import approve_worker
from coordination.workers.block import block_worker
from coordination.workers.hide_text import hide_text
from coordination.workers.pause import pause_worker
from coordination.workers.show_text import show_text
from coordination.workers.unblock import unblock_worker


@dataclass(frozen=True)
class Decision:
    """``verb(worker, reason, actor)`` is False when the worker's state does not allow it.
    ``question``: what is asked before it is done."""

    title: str | Promise
    verb: Callable[..., bool]
    needs_reason: bool = False
    question: str | Promise = ""


DECISIONS = {
    "approve": Decision(_("Approve the selected workers"), approve_worker),
    "pause": Decision(_("Pause the selected workers"), pause_worker, needs_reason=True),
    "block": Decision(_("Block the selected workers"), block_worker, needs_reason=True),
    "unblock": Decision(_("Let the selected workers in again"), unblock_worker),
    "show_text": Decision(
        _("Let the selected workers see raw text"),
        show_text,
        question=_(
            "The run's raw text will be sent to these people's computers, to be prepared there. "
            "What was sent cannot be taken back."
        ),
    ),
    "hide_text": Decision(
        _("Show the selected workers no more raw text"),
        hide_text,
        question=_("What they have in hand is taken from them. What was sent stays sent."),
    ),
}
