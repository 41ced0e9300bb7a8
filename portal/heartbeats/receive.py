"""Verb: take a coordinator's heartbeat. Sending one twice, or out of order, changes nothing."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import mail
from accounts.models import User
from portal.heartbeats.beat import Beat
from portal.heartbeats.history import remember_loss
from portal.heartbeats.uptime import credit
from portal.listings.errors import WrongState
from portal.models import ENDED, Coordinator, Presence, State


@dataclass(frozen=True)
class Answer:
    """What every heartbeat is answered with: when the next is due, and the newest seq known."""

    interval_s: int
    seq: int


@transaction.atomic
def receive(coordinator: Coordinator, beat: Beat) -> Answer:
    """Note the beat unless a newer one is known; its sender becomes online.

    Raises:
        WrongState: the listing has ended; nobody waits for its heartbeats.
    """
    current = Coordinator.objects.select_for_update().get(pk=coordinator.pk)
    if current.state in ENDED:
        now = {"state": current.get_state_display()}
        raise WrongState(_("The listing takes no heartbeats; it is now: %(state)s.") % now)
    if beat.seq > current.heartbeat_seq:
        _note(current, beat, timezone.now())
    coordinator.refresh_from_db()
    return Answer(settings.HEARTBEAT_SECONDS, max(beat.seq, current.heartbeat_seq))


def _note(current: Coordinator, beat: Beat, now: datetime) -> None:
    credit(current, now)
    if beat.loss is not None and beat.round is not None:
        remember_loss(current, beat.round, beat.loss)
    was_offline = current.presence == Presence.OFFLINE
    Coordinator.objects.filter(pk=current.pk).update(
        presence=Presence.ONLINE,
        heartbeat_seq=beat.seq,
        heartbeat_at=now,
        first_heartbeat_at=current.first_heartbeat_at or now,
        run_status=beat.status,
        round=beat.round,
        rounds=beat.rounds,
        workers=beat.workers,
        loss=beat.loss,
        software=beat.software,
    )
    if was_offline and (owner := wants_mail(current)):
        mail.send(owner, "presence_online", coordinator=current)


def wants_mail(coordinator: Coordinator) -> User | None:
    """Its operator, if they want to hear of its presence and the public sees it."""
    owner = coordinator.operator
    if owner is None or coordinator.state != State.APPROVED:
        return None
    return owner if owner.mails_presence else None
