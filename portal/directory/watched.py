"""What those who watch the directory are told; how they are told is the site's business.

However many watch, and whatever they look for, each turn makes two queries.
"""

import time
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import QueryDict

from portal.directory.find import FILTERED
from portal.directory.sight import NEWEST, Card, Cards, Newcomers, Sight, cards_of, newest, told
from portal.models import Coordinator

INTERVAL_S = 1.0
# Who came while nobody watched did not come just now.
OUT_OF_DATE_S = 30.0

Version = tuple[Cards, Newcomers]


def find(query: str) -> Sight | None:
    """What a page's query string says is before its visitor; None if it says too much."""
    try:
        return Sight.read(QueryDict(query))
    except SuspiciousOperation:
        return None


class Directory:
    """The directory as it was last read. One reader at a time."""

    def __init__(self) -> None:
        self._read_at = float("-inf")
        self._slugs: frozenset[str] = frozenset()
        self._newcomers: Newcomers = ()

    def versions(self, sights: list[Sight]) -> dict[Sight, Version]:
        """The shown cards and the newcomers that match, by what is in sight."""
        columns = Coordinator.objects.listed().order_by().values_list("slug", *Card._fields)
        cards = dict(cards_of(columns))
        self._notice(frozenset(cards))
        rows = Coordinator.objects.listed().filter(slug__in=dict(self._newcomers))
        rows_by_slug = {row.slug: row for row in rows.only("slug", *FILTERED)}
        return {
            sight: (
                tuple((slug, cards[slug]) for slug in sight.shown if slug in cards),
                tuple(
                    (slug, at)
                    for slug, at in self._newcomers
                    if slug in rows_by_slug and sight.wanted.matches(rows_by_slug[slug])
                ),
            )
            for sight in sights
        }

    def message(self, _sight: Sight, version: Version) -> dict[str, Any]:
        return told(*version)

    def _notice(self, slugs: frozenset[str]) -> None:
        """Keep who came last; when that was is known of those that came while somebody watched,
        and of the others when they were approved."""
        if time.monotonic() - self._read_at > OUT_OF_DATE_S:
            self._newcomers = newest(Coordinator.objects.listed())
        else:
            came = tuple((slug, time.time()) for slug in slugs - self._slugs)
            stayed = tuple(pair for pair in self._newcomers if pair[0] in slugs)
            self._newcomers = (came + stayed)[:NEWEST]
        self._slugs, self._read_at = slugs, time.monotonic()
