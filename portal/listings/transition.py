"""How a listing moves: one conditional update, one audit row, one mail, or nothing.

Every verb of this folder is a thin call of ``move``; the table of who may do what from where is
in ``docs/architecture.md`` and in the verbs' own lines, nowhere else.
"""

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts import mail
from accounts.audit import record
from accounts.models import User
from portal.listings.errors import NotAllowed, Outdated, WrongState
from portal.listings.taken import noticing_taken
from portal.models import Coordinator, State


def demand_operator(coordinator: Coordinator, by: User) -> None:
    """Raises NotAllowed unless ``by`` runs the coordinator."""
    if coordinator.operator_id != by.pk:
        raise NotAllowed(_("Only its operator may do this."))


def demand_admin(by: User) -> None:
    """Raises NotAllowed unless ``by`` may decide on listings."""
    if not (by.is_active and by.is_staff and by.has_perm("portal.change_coordinator")):
        raise NotAllowed(_("Only staff who may change coordinators decide on listings."))


def move(
    coordinator: Coordinator,
    verb: str,
    by: User | None,
    *,
    sources: Collection[State],
    to: State,
    revision: int | None = None,
    mails: bool = False,
    **values: Any,
) -> None:
    """Bring a listing from one of ``sources`` to ``to`` and set ``values`` with it.

    ``revision`` is the one the decision was made on; None takes the object's own. With ``mails``
    the operator hears of it by ``templates/mail/listing_VERB.txt``.

    Raises:
        WrongState: it is in another state.
        Outdated: it changed since that revision, so that two admins never decide twice.
        Taken: another listing that is not a draft has its address.
    """
    expected = coordinator.revision if revision is None else revision
    with transaction.atomic():
        rows = Coordinator.objects.filter(pk=coordinator.pk, state__in=sources, revision=expected)
        with noticing_taken(coordinator):
            changed = rows.update(state=to, revision=F("revision") + 1, **values)
        before = coordinator.state
        coordinator.refresh_from_db()
        if not changed:
            raise _why(coordinator, sources)
        detail = {"from": before, "to": to.value} | _told(values)
        record(verb, f"coordinator:{coordinator.slug}", by, **detail)
        if mails:
            mail.send(coordinator.operator, f"listing_{verb}", coordinator=coordinator)


def _why(coordinator: Coordinator, sources: Collection[State]) -> Exception:
    if coordinator.state not in sources:
        allowed = ", ".join(str(State(source).label) for source in sources)
        states = {"allowed": allowed, "state": coordinator.get_state_display()}
        return WrongState(
            _("This can be done in these states only: %(allowed)s. It is now: %(state)s.") % states
        )
    return Outdated(_("The listing has changed since you read it; look at it again."))


def _told(values: dict[str, Any]) -> dict[str, str]:
    message = values.get("message")
    return {"message": message} if message else {}
