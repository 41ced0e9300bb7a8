"""How much of a round's wall time the demo spends outside training.

    make demo && python -m benchmarks.rounds

Reads what the last demo measured: from the first lease to the last publication, and the training
time of each round's slowest worker.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Bar, judge, print_table

SUMMARY = Path(__file__).resolve().parents[1] / "var" / "demo" / "summary.json"
LIMIT_PERCENT = 15


def report(summary: Path) -> list[Bar]:
    told = json.loads(summary.read_text("utf-8"))
    wall, train = told["rounds_wall_s"], told["train_s"]
    outside = 100 * (1 - train / wall)
    rows = [[str(told["rounds"]), f"{wall:.1f}", f"{train:.1f}", f"{outside:.1f}"]]
    print_table("Rounds of the demo", ["rounds", "wall s", "training s", "outside %"], rows)
    return [Bar("a round's wall time outside training", outside, LIMIT_PERCENT, "%")]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Share of the demo's rounds outside training")
    parser.add_argument("--summary", type=Path, default=SUMMARY)
    summary = parser.parse_args(arguments).summary
    if not summary.is_file():
        print("NOT MEASURED  a round's wall time outside training: run `make demo` first")
        return 0
    return judge(report(summary))


if __name__ == "__main__":
    sys.exit(main())
