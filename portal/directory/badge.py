"""A coordinator's state for other people's pages: an SVG of our own, and shields.io's JSON."""

from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _

from portal.models import Coordinator, Presence

LABEL = "modelen"
# White text on each has a contrast of at least 4.5.
COLOURS = {
    Presence.ONLINE: "#0c6e5f",
    Presence.LATE: "#8a5200",
    Presence.OFFLINE: "#a3261f",
    Presence.NEVER: "#5a6461",
}
CACHE_S = 60
SHIELDS_CACHE_S = 300  # the least that shields.io takes
CHARACTER, MARGIN = 7, 12


@dataclass(frozen=True)
class Badge:
    message: str
    colour: str


def badge(coordinator: Coordinator) -> Badge:
    """Its presence, with the round while it can be heard from."""
    presence = Presence(coordinator.presence)
    message = str(presence.label)
    if presence in (Presence.ONLINE, Presence.LATE) and coordinator.round:
        place = {"round": coordinator.round, "rounds": coordinator.rounds or "?"}
        message += " · " + _("round %(round)s/%(rounds)s") % place
    return Badge(message, COLOURS[presence])


def as_svg(shown: Badge) -> str:
    """An image of 20 pixels in height; characters are taken to be equally wide."""
    left = len(LABEL) * CHARACTER + MARGIN
    right = len(shown.message) * CHARACTER + MARGIN
    text = 'y="14" text-anchor="middle" fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif"'
    message = escape(shown.message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f"<title>{LABEL}: {message}</title>"
        f'<rect width="{left}" height="20" fill="#333b38"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{shown.colour}"/>'
        f'<text x="{left / 2}" {text} font-size="11">{LABEL}</text>'
        f'<text x="{left + right / 2}" {text} font-size="11">{message}</text></svg>'
    )


def as_shields(shown: Badge) -> dict[str, Any]:
    """What https://shields.io/badges/endpoint-badge reads."""
    return {
        "schemaVersion": 1,
        "label": LABEL,
        "message": shown.message,
        "color": shown.colour,
        "cacheSeconds": SHIELDS_CACHE_S,
    }
