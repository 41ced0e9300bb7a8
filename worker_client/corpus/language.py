"""Which language a text is in, by the library ``py3langid``: small, offline, 97 languages."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Three pieces of a text say as much as all of it, at a bounded cost.
PIECES, PIECE_CHARACTERS = 3, 700


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


def identify(text: str) -> str:
    """The ISO 639-1 code of the likeliest language."""
    return _identifier().classify(_excerpt(text))[0]


def is_known(language: str) -> bool:
    """Whether ``identify`` can find this language at all."""
    return language in _identifier().nb_classes


def _excerpt(text: str) -> str:
    if len(text) <= PIECES * PIECE_CHARACTERS:
        return text
    step = (len(text) - PIECE_CHARACTERS) // (PIECES - 1)
    return "\n".join(text[i * step : i * step + PIECE_CHARACTERS] for i in range(PIECES))
