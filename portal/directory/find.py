"""The directory's rows: which, in what order, and what there is to choose from."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.core.cache import cache
from django.db.models import Count, F, OrderBy, Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from portal.directory.fold import fold
from portal.models import Coordinator, CoordinatorQuerySet, Mode, Presence

SORTS: dict[str, tuple[str | Promise, tuple[str | OrderBy, ...]]] = {
    "new": (_("newest"), ("-approved_at", "-id")),
    "name": (_("name"), ("sort_name", "id")),
    "workers": (_("most volunteers"), (F("workers").desc(nulls_last=True), "-id")),
    "heard": (_("last heard from"), (F("heartbeat_at").desc(nulls_last=True), "-id")),
}
MAX_QUERY = 100
MAX_WORDS = 5
# The columns that decide what matches.
FILTERED = ("presence", "mode", "base_model", "languages", "search_text")
CHOICES = 50
CHOICES_KEPT_S = 60
CHOICES_KEY = "portal-directory-choices"


@dataclass(frozen=True)
class Wanted:
    """What a visitor asks for; values that mean nothing are left out."""

    query: str = ""
    presence: str = ""
    mode: str = ""
    base_model: str = ""
    language: str = ""
    sort: str = "new"

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Wanted":
        """From a query string: ``q``, ``presence``, ``mode``, ``model``, ``language``, ``sort``."""
        return cls(
            query=parameters.get("q", "").replace("\0", "")[:MAX_QUERY].strip(),
            presence=_known(parameters.get("presence"), Presence.values),
            mode=_known(parameters.get("mode"), Mode.values),
            base_model=parameters.get("model", "").replace("\0", "")[:200],
            language=_code(parameters.get("language", "")),
            sort=_known(parameters.get("sort"), SORTS) or "new",
        )

    @property
    def narrows(self) -> bool:
        """Whether anything is left out."""
        chosen = (self.query, self.presence, self.mode, self.base_model, self.language)
        return any(chosen)

    def matches(self, row: Coordinator) -> bool:
        """Whether ``find`` would find a listed row, which has its ``FILTERED`` columns."""
        exact = (
            (self.presence, row.presence),
            (self.mode, row.mode),
            (self.base_model, row.base_model),
        )
        return (
            all(asked in ("", value) for asked, value in exact)
            and (not self.language or self.language in row.language_codes)
            and all(word in row.search_text for word in self.words)
        )

    @property
    def words(self) -> list[str]:
        """What to look for in the searched text; all have to be there."""
        return fold(self.query).split()[:MAX_WORDS]


def find(wanted: Wanted) -> CoordinatorQuerySet:
    """The listed coordinators that match, in the wanted order, which has no ties."""
    rows = Coordinator.objects.listed()
    exact = {
        "presence": wanted.presence,
        "mode": wanted.mode,
        "base_model": wanted.base_model,
    }
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if wanted.language:
        rows = rows.filter(_speaks(wanted.language))
    for word in wanted.words:
        rows = rows.filter(search_text__contains=word)
    return rows.order_by(*SORTS[wanted.sort][1])


@dataclass(frozen=True)
class Choices:
    """What the listed coordinators have, most frequent first."""

    base_models: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)


def choices() -> Choices:
    """Counted once a minute, not for every visitor."""
    counted: Choices | None = cache.get(CHOICES_KEY)
    if counted is None:
        counted = _count_choices()
        cache.set(CHOICES_KEY, counted, CHOICES_KEPT_S)
    return counted


def _count_choices() -> Choices:
    rows = Coordinator.objects.listed().order_by()
    models = rows.exclude(base_model="").values("base_model").annotate(count=Count("pk"))
    frequent = models.order_by("-count", "base_model").values_list("base_model", flat=True)
    languages: Counter[str] = Counter()
    for text, count in rows.values_list("languages").annotate(Count("pk")):
        languages.update({code: count for code in text.split(",") if code})
    return Choices(list(frequent[:CHOICES]), [code for code, _n in languages.most_common(CHOICES)])


def _speaks(code: str) -> Q:
    whole, first, last, among = (Q(languages=code), Q(languages__startswith=f"{code},"),
        Q(languages__endswith=f",{code}"), Q(languages__contains=f",{code},"))  # fmt: skip
    return whole | first | last | among


def _known(value: str | None, known: object) -> str:
    return value if value and value in known else ""  # type: ignore[operator]


def _code(value: str) -> str:
    return value if 2 <= len(value) <= 3 and value.isascii() and value.islower() else ""
