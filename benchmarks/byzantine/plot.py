"""A picture of the grid: a field for every defence and attack, as an SVG without any library."""

from collections.abc import Sequence
from html import escape

from benchmarks.byzantine.attacks import ATTACKS
from benchmarks.byzantine.coordinator import Defence
from benchmarks.byzantine.findings import Findings
from benchmarks.byzantine.lab import NOBODY

FIELD_W, FIELD_H, LEFT, TOP, MARGIN = 58, 26, 300, 150, 14
# Blue where the gain is kept, through white at the bar of 70 %, to orange where it is lost:
# told apart by everybody, and each field has its number besides.
KEPT, LOST, BAR = (33, 102, 172), (217, 95, 2), 0.7


def heat_map(findings: Findings, defences: Sequence[Defence], title: str) -> str:
    """SVG text; rows are ``defences``, columns nobody and all attacks."""
    attacks = {NOBODY: "nobody hostile"} | {name: a.title for name, a in ATTACKS.items()}
    width = LEFT + FIELD_W * len(attacks) + MARGIN
    height = TOP + FIELD_H * len(defences) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for column, name in enumerate(attacks.values()):
        x, y = LEFT + FIELD_W * (column + 0.5), TOP - 8
        place = f'x="{x}" y="{y}" transform="rotate(-55 {x} {y})"'
        parts.append(f'<text {place} fill="#222">{escape(name)}</text>')
    for row, defence in enumerate(defences):
        y = TOP + FIELD_H * row
        parts.append(_text(LEFT - 8, y + 17, defence.name, "#222", "end"))
        for column, attack in enumerate(attacks):
            if lost := findings.lost(attack, defence):
                parts += _field(LEFT + FIELD_W * column, y, 1 - lost.mean)
    return "\n".join([*parts, "</svg>", ""])


def _field(x: int, y: int, kept: float) -> list[str]:
    colour = _colour(kept)
    ink = "#fff" if sum(colour) < 330 else "#222"
    fill = "#" + "".join(f"{part:02x}" for part in colour)
    box = f'<rect x="{x}" y="{y}" width="{FIELD_W - 2}" height="{FIELD_H - 2}" fill="{fill}"/>'
    text = f"{100 * kept:.0f}" if kept > -1 else "lost"
    return [box, _text(x + FIELD_W / 2 - 1, y + 17, text, ink, "middle")]


def _colour(kept: float) -> tuple[int, int, int]:
    """White at the bar, full colour at everything and at nothing kept."""
    kept = min(1.0, max(0.0, kept))
    goal = KEPT if kept >= BAR else LOST
    share = (kept - BAR) / (1 - BAR) if kept >= BAR else (BAR - kept) / BAR
    red, green, blue = (round(255 + share * (part - 255)) for part in goal)
    return red, green, blue


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"
