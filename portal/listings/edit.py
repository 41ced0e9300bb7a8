"""Verbs: the operator begins a draft and changes what a listing says."""

import secrets
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.audit import record
from accounts.models import User
from portal.directory.fold import folded
from portal.listings.errors import NotAllowed, Outdated, WrongState
from portal.listings.taken import noticing_taken
from portal.listings.transition import demand_operator
from portal.models import ENDED, Coordinator, Proof, State

EDITABLE = (
    "name", "slug", "address", "description", "base_model", "mode", "languages", "data_source",
    "data_licence", "contact", "hardware",
)  # fmt: skip

# More than anybody runs, and too few to fill the database or to hold every good name.
MOST_OPEN = 100


def draw_token() -> str:
    """A fresh secret that binds one coordinator to one address."""
    return secrets.token_urlsafe(32)


@transaction.atomic
def begin(by: User, **fields: Any) -> Coordinator:
    """Save a draft of ``by``.

    Raises:
        ValidationError: names the fields that are wrong, or none when ``by`` has MOST_OPEN.
        Taken: another begins with the same short name at the same moment.
    """
    _demand_room(by)
    coordinator = Coordinator(operator=by, proof_token=draw_token(), **fields)
    coordinator.full_clean()
    for name, value in folded(coordinator).items():
        setattr(coordinator, name, value)
    with noticing_taken(coordinator):
        coordinator.save()
    record("begin", f"coordinator:{coordinator.slug}", by)
    return coordinator


def _demand_room(by: User) -> None:
    # The row is the lock that makes counting and adding one step.
    list(User.objects.select_for_update().filter(pk=by.pk))
    if Coordinator.objects.filter(operator=by).exclude(state__in=ENDED).count() >= MOST_OPEN:
        told = {"most": MOST_OPEN}
        raise ValidationError(
            _("You have %(most)s coordinators, as many as one may. Withdraw one first.") % told
        )


@transaction.atomic
def edit(coordinator: Coordinator, by: User, revision: int | None = None, **fields: Any) -> None:
    """Change a listing. A changed address drops the verification and asks for approval again.

    The slug is a draft's own; later it is part of addresses that others have written down.

    Raises:
        NotAllowed: ``by`` is not its operator, or a field is not theirs to change.
        WrongState: rejected, withdrawn, suspended, or a slug outside drafts.
        Outdated: it changed since ``revision`` (None: the object's own).
        ValidationError: names the fields that are wrong.
        Taken: another listing got the address or short name at the same moment.
    """
    demand_operator(coordinator, by)
    if odd := set(fields) - set(EDITABLE):
        raise NotAllowed(_("These are not yours to change: %s.") % ", ".join(sorted(odd)))
    changed = {name: value for name, value in fields.items() if getattr(coordinator, name) != value}
    if not changed:
        return
    _demand_editable(coordinator, changed)
    expected = coordinator.revision if revision is None else revision
    for name, value in changed.items():
        setattr(coordinator, name, value)
    coordinator.full_clean()
    changed = {name: getattr(coordinator, name) for name in changed}
    values = changed | (_after_move(coordinator) if "address" in changed else {})
    values |= folded(coordinator)
    rows = Coordinator.objects.filter(pk=coordinator.pk, revision=expected)
    with noticing_taken(coordinator):
        written = rows.update(revision=F("revision") + 1, **values)
    if not written:
        coordinator.refresh_from_db()
        raise Outdated(_("The listing has changed since you read it; look at it again."))
    coordinator.refresh_from_db()
    moved = {"to": values["state"].value} if "state" in values else {}
    record("edit", f"coordinator:{coordinator.slug}", by, fields=sorted(changed), **moved)


def _demand_editable(coordinator: Coordinator, changed: dict[str, Any]) -> None:
    if coordinator.state in (*ENDED, State.SUSPENDED):
        now = coordinator.get_state_display()
        raise WrongState(_("The listing cannot be changed; it is now: %(state)s.") % {"state": now})
    if "slug" in changed and coordinator.state != State.DRAFT:
        raise WrongState(_("The short name can be changed in a draft only."))


def _after_move(coordinator: Coordinator) -> dict[str, Any]:
    """What a new address changes: it is unproven, and an approval was of the old one."""
    values: dict[str, Any] = {
        "proof": Proof.UNVERIFIED,
        "proof_token": draw_token(),
        "verified_at": None,
        "failing_since": None,
        "next_check_at": None,
        "failures": 0,
    }
    if coordinator.state == State.APPROVED:
        values |= {"state": State.SUBMITTED, "submitted_at": timezone.now()}
    return values
