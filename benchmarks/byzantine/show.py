"""The findings as tables, for the terminal and for Markdown."""

from collections.abc import Callable, Sequence

from benchmarks.byzantine.attacks import ATTACKS
from benchmarks.byzantine.coordinator import Defence
from benchmarks.byzantine.findings import MEAN, Findings, Spread
from benchmarks.byzantine.lab import NOBODY

Table = tuple[list[str], list[list[str]]]
UNKNOWN = "–"  # not measured
TOO_MUCH = 9.995  # times the clean loss, or the clean gain


def kept_cell(lost: Spread | None) -> str:
    """Share of the gain that is kept, in per cent, and half its spread over seeds."""
    if lost is None:
        return UNKNOWN
    if 1 - lost.mean < -TOO_MUCH:
        return "ruined"
    return f"{100 * (1 - lost.mean):.0f}{lost.half(100, 0)}"


def loss_cell(relative: Spread | None) -> str:
    if relative is None:
        return UNKNOWN
    return f"{relative.mean:.3f}" if relative.mean < TOO_MUCH else "ruined"


def by_attack(findings: Findings, defences: Sequence[Defence], cell: Callable) -> Table:
    """A row for every attack and a column for every defence."""
    columns = ["attack", *(defence.name for defence in defences)]
    titles = {NOBODY: "nobody"} | {name: attack.title for name, attack in ATTACKS.items()}
    rows = [
        [title, *(cell(findings, attack, defence) for defence in defences)]
        for attack, title in titles.items()
    ]
    return columns, rows


def kept(findings: Findings, attack: str, defence: Defence) -> str:
    return kept_cell(findings.lost(attack, defence))


def relative_loss(findings: Findings, attack: str, defence: Defence) -> str:
    return loss_cell(findings.relative(attack, defence))


def damage(findings: Findings) -> Table:
    """What every attack does to the plain mean."""
    rows = []
    for name, attack in ATTACKS.items():
        lost = findings.lost(name, MEAN)
        share = UNKNOWN if lost is None else f"{100 * lost.mean:.0f} %"
        if lost is not None and lost.mean > TOO_MUCH:
            share = "all and more"
        rows.append(
            [attack.title, attack.source, share, "yes" if findings.is_harmful(name) else "no"]
        )
    return ["attack", "what is sent", "gain lost by the plain mean", "inside the bars"], rows


def trust(findings: Findings, defence: Defence) -> Table:
    """What verification did: results merged, trust earned, honest ones blamed, repetitions."""
    columns = ["attack", "hostile results merged", "trust at the end", "honest blamed", "checks"]
    fields = ("hostile_merged", "hostile_trust", "blamed", "checks")
    rows = []
    for name, attack in ATTACKS.items():
        found = findings.of(name, defence).values()
        means = [Spread.of([getattr(outcome, field) for outcome in found]) for field in fields]
        rows.append([attack.title, *(f"{m.mean:.1f}" if m else UNKNOWN for m in means)])
    return columns, rows


def one_language(findings: Findings, defences: Sequence[Defence]) -> Table:
    """Nobody hostile: mixed shards, and one language a shard; losses over the plain mean's."""
    rows = [
        [
            defence.name,
            *(_above(findings.relative(NOBODY, defence, kind)) for kind in (False, True)),
        ]
        for defence in defences
    ]
    return ["rule", "mixed shards, %", "one language a shard, %"], rows


def _above(relative: Spread | None) -> str:
    if relative is None:
        return UNKNOWN
    return f"{100 * (relative.mean - 1):+.2f}{relative.half(100, 2)}"


def markdown(table: Table) -> str:
    columns, rows = table
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
