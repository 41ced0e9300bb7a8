"""Numbers in the page's language. Plainer than Django's own filters, which a page of the directory
would spend most of its time in."""

from django import template
from django.utils.formats import get_format

from portal.models import Presence

register = template.Library()

MISSING = "–"


@register.filter
def whole(value: int | None) -> str:
    """``12,345`` or ``12.345``."""
    if value is None:
        return MISSING
    return f"{value:,}".replace(",", str(get_format("THOUSAND_SEPARATOR")))


@register.filter
def loss(value: float | None) -> str:
    """Four digits after the comma."""
    if value is None:
        return MISSING
    return f"{value:.4f}".replace(".", str(get_format("DECIMAL_SEPARATOR")))


@register.filter
def presence_word(value: str) -> str:
    """What ``get_presence_display`` says, at a tenth of its cost."""
    return str(Presence(value).label)
