"""Hostile volunteers against every merging rule: ``python -m benchmarks.byzantine``.

    python -m benchmarks.byzantine            # everything; resumes where it was stopped
    python -m benchmarks.byzantine --quick    # plain mean and the default only
    python -m benchmarks.byzantine --known    # run nothing, show what has been run

A tiny language model is trained on real text by ten volunteers, three of them hostile, through
the coordinator's own screening, merging and trust. ``--write`` puts the findings of the whole
grid into ``benchmarks/results/byzantine.json`` and ``docs/robustness.md``.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.byzantine.coordinator import Defence
from benchmarks.byzantine.findings import MEAN, Findings, Missing
from benchmarks.byzantine.grid import BARE, SEEDS, Grid, arms_of, one_language_each
from benchmarks.byzantine.plot import heat_map
from benchmarks.byzantine.render import TITLE, halves, write_page, write_results
from benchmarks.byzantine.show import by_attack, damage, kept, one_language, relative_loss, trust
from benchmarks.table import Bar, judge, print_table
from coordination.aggregation.rules import DEFAULT_RULE

ALONE = Defence(DEFAULT_RULE, False)
SCREENED = Defence(DEFAULT_RULE, False, screens=True)
VERIFIED = Defence(DEFAULT_RULE, False, screens=True, verifies=True)
WHOLE = [ALONE, SCREENED, VERIFIED]
# What a new run takes where nobody can verify.
UNVERIFIABLE = Defence("mean", False, screens=True)


def show(findings: Findings, bare: Sequence[Defence], languages: bool) -> int:
    """Print all tables and the bars; the exit status."""
    note = "attackers 3 of 10; mean of the seeds"
    print_table("Every attack against the plain mean", *damage(findings))
    for half in halves(bare):
        table = by_attack(findings, half, relative_loss)
        print_table(f"Held-out loss over the clean run's ({note})", *table)
        print_table(f"Gain kept, %, ± half the spread ({note})", *by_attack(findings, half, kept))
    defaults = [*WHOLE, UNVERIFIABLE]
    print_table(f"The default: gain kept, % ({note})", *by_attack(findings, defaults, kept))
    print_table("The default with verification", *trust(findings, VERIFIED))
    if languages:
        found = one_language(findings, [*bare, *WHOLE[1:], UNVERIFIABLE])
        print_table("Nobody hostile: loss above the plain mean's", *found)
    bars = findings.bars(SCREENED, VERIFIED)
    for bar in bars:
        if isinstance(bar, Missing):
            print(bar)
    return judge([bar for bar in bars if isinstance(bar, Bar)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Attacks against the merging rules")
    parser.add_argument("--quick", action="store_true", help="plain mean and the default only")
    parser.add_argument("--known", action="store_true", help="run nothing, show what was run")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="store results and render the docs")
    options = parser.parse_args(arguments)
    if options.quick and options.write:
        parser.error("--write needs the whole grid: leave out --quick")
    bare = [MEAN, ALONE] if options.quick else BARE
    whole = [SCREENED, VERIFIED, UNVERIFIABLE]
    # The default first: a grid that is stopped has said what matters most.
    arms = arms_of([MEAN, *whole], SEEDS) + one_language_each([MEAN, *whole], SEEDS)
    arms += arms_of(bare, SEEDS) + ([] if options.quick else one_language_each(bare, SEEDS))
    arms = list(dict.fromkeys(arms))
    grid = Grid()
    if not options.known:
        grid.run(arms, options.processes)
    findings = Findings(grid.outcomes, SEEDS)
    if options.write:
        write_results(findings, arms)
        picture = heat_map(findings, [*bare, *WHOLE[1:], UNVERIFIABLE], TITLE)
        write_page(findings, bare, WHOLE, UNVERIFIABLE, picture)
    return show(findings, bare, not options.quick)


if __name__ == "__main__":
    sys.exit(main())
