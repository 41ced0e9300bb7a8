"""What every benchmark prints: one aligned table, then its bars with PASS or FAIL."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A number that must not exceed a limit."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "PASS" if self.met else "FAIL"
        return f"{verdict}  {self.name}: {self.value:.4g} {self.unit} <= {self.limit:g} {self.unit}"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print ``rows`` under ``columns``: the first column left, the others right aligned."""
    lines = [columns, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    print(f"\n{title}")
    for number, line in enumerate(lines):
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def judge(bars: Sequence[Bar]) -> int:
    """Print every bar; returns the exit code: 0 when all are met, otherwise 1."""
    print()
    for bar in bars:
        print(bar)
    return 0 if all(bar.met for bar in bars) else 1
