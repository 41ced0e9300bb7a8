"""Text as the directory compares it: without case, accents or the dots of Turkish i."""

import unicodedata

from portal.models import Coordinator

# Lower-casing alone would part what a Turkish reader takes for one letter, and join it wrongly.
_TURKISH = str.maketrans("İIı", "iii")
MAX_NAME = 120
SEARCHED = ("name", "slug", "base_model", "languages", "description", "data_source")


def fold(text: str) -> str:
    """``IŞIK``, ``ışık`` and ``isik`` come out the same; runs of spaces become one."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_TURKISH).casefold())
    return " ".join("".join(c for c in decomposed if not unicodedata.combining(c)).split())


def folded(coordinator: Coordinator) -> dict[str, str]:
    """The columns that the directory sorts by and searches."""
    return {
        # Folding can lengthen: one ligature is two letters.
        "sort_name": fold(coordinator.name)[:MAX_NAME],
        "search_text": fold(" ".join(getattr(coordinator, name) for name in SEARCHED)),
    }
