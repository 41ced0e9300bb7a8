"""What a visitor of the directory has before them, and what of it may have changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from portal.directory.find import Wanted, find
from portal.models import Coordinator, Proof

PER_PAGE = 18
NEWEST = 20  # how many newcomers are told of; a page says "20+"
MAX_SHOWN = PER_PAGE * 61  # slugs with their commas


class Card(NamedTuple):
    """What changes on a card, in the order of its columns."""

    presence: str
    proof: str
    round: int | None
    rounds: int | None
    workers: int | None
    loss: float | None

    def told(self) -> dict[str, Any]:
        """As the page's script puts it in."""
        in_progress = bool(self.round and self.rounds)
        stale = self.proof == Proof.STALE
        return self._asdict() | {"stale": stale, "in_progress": in_progress}


Cards = tuple[tuple[str, Card], ...]
# Slugs, and when each came into the directory, in seconds since 1970.
Newcomers = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Sight:
    """The cards that are shown, by slug, and what their visitor asked for."""

    wanted: Wanted
    shown: tuple[str, ...]

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Sight":
        """From the page's own query string with ``shown``: slugs with commas between."""
        slugs = parameters.get("shown", "").replace("\0", "")[:MAX_SHOWN].split(",")
        return cls(Wanted.read(parameters), tuple(filter(None, slugs[:PER_PAGE])))


def told(cards: Cards, newcomers: Newcomers) -> dict[str, Any]:
    """What a page's script reads. A shown card that is not among them has left the directory."""
    return {"cards": {slug: card.told() for slug, card in cards}, "newcomers": newcomers}


def look(sight: Sight) -> dict[str, Any]:
    """For one visitor, by two queries; see ``watched`` for many."""
    rows = Coordinator.objects.listed().filter(slug__in=sight.shown).order_by("pk")
    cards = tuple(cards_of(rows.values_list("slug", *Card._fields)))
    return told(cards, newest(find(sight.wanted)))


def cards_of(rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[str, Card]]:
    return ((slug, Card(*columns)) for slug, *columns in rows)


def newest(rows: Any) -> Newcomers:
    """The last approved of ``rows``."""
    last = rows.order_by("-approved_at", "-id").values_list("slug", "approved_at")[:NEWEST]
    return tuple((slug, approved.timestamp()) for slug, approved in last if approved)
