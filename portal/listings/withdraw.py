"""Verb: the operator, or the deletion of their account, takes a coordinator out for good."""

from accounts.models import User
from portal.listings.transition import demand_operator, move
from portal.models import Coordinator, State

SOURCES = tuple(state for state in State if state not in (State.REJECTED, State.WITHDRAWN))


def withdraw(coordinator: Coordinator, by: User) -> None:
    """Move any listing but a rejected one to withdrawn; its address is free for others.

    Raises:
        NotAllowed, WrongState, Outdated: see ``transition``.
    """
    demand_operator(coordinator, by)
    move(coordinator, "withdraw", by, sources=SOURCES, to=State.WITHDRAWN)
