"""Summaries learnt by a swarm: ``python -m benchmarks.summaries``.

    python -m benchmarks.summaries            # SmolLM2-135M, Turkish newspaper columns
    python -m benchmarks.summaries --write    # also into benchmarks/results/summaries.json
    python -m benchmarks.summaries --articles en.jsonl --seq 256    # articles with summaries

Two volunteers train an adapter on pairs of column and summary, through a real server. Held-out
columns are summarised before and after, and ROUGE tells how near that comes to what people kept of
them, beside the first three sentences of each.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.summaries.columns import SOURCE, fetch_articles
from modelen_site.demo import places as demo_places
from modelen_site.demo.places import Places
from modelen_site.demo.plan import PLANS, Plan
from modelen_site.demo.texts import by_digest
from worker_client.cli.tables import evaluation_table
from worker_client.data.article import Article
from worker_client.data.documents import read_summarised

RESULTS = Path(__file__).parents[1] / "results" / "summaries.json"
DEFAULT = "smollm2-135m-lora-r16"
# As many as there are columns; what is shorter leaves nothing out.
MOST_ARTICLES, SHORTEST_BODY = 96, 300


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    plan = replace(
        PLANS[options.format],
        slug="summaries",
        inner_steps=options.steps,
        seq_len=options.seq,
        rounds=options.rounds,
        lr=options.lr,
    )
    found = Places.below(demo_places.var_folder() / "summaries")
    port = demo_places.free_port(0)
    demo_places.clear(found)
    demo_places.set_environment(found)
    os.environ["OMP_NUM_THREADS"] = "1"  # threads that wait for each other gain nothing here

    import django

    django.setup()
    from benchmarks.summaries.story import Story

    articles = _articles(options)
    held_out, train = articles[: options.held_out], articles[options.held_out :]
    before, after = Story(plan, found, port).tell(train, held_out)
    report = _report(plan, train, held_out, before, after)
    for title in ("before", "after"):
        print(f"\n{title.capitalize()}\n{evaluation_table(report[title])}")
    if options.write and not options.articles:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


def _articles(options: argparse.Namespace) -> list[Article]:
    if not options.articles:
        return fetch_articles(options.wheel)
    found = {article.body: article for article in read_summarised(options.articles)}
    long_enough = [body for body in by_digest(found) if len(body) > SHORTEST_BODY]
    return [found[body] for body in long_enough[:MOST_ARTICLES]]


def _report(
    plan: Plan, train: list[Article], held_out: list[Article], before: dict, after: dict
) -> dict:
    return {
        "command": "python -m benchmarks.summaries --write",
        "text": SOURCE,
        "train_articles": len(train),
        "held_out_articles": len(held_out),
        "plan": asdict(plan),
        "before": before,
        "after": after,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Summaries learnt by a swarm")
    parser.add_argument("--format", choices=sorted(PLANS), default=DEFAULT)
    parser.add_argument("--seq", type=int, default=512, help="tokens of column and summary")
    parser.add_argument("--steps", type=int, default=10, help="inner steps of a task")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--held-out", type=int, default=16, help="columns that nobody trains on")
    parser.add_argument("--wheel", type=Path, help="the text's wheel, if it is here already")
    parser.add_argument("--articles", type=Path, help=".jsonl instead of the columns")
    parser.add_argument("--write", action="store_true", help="keep the results as data")
    return parser


if __name__ == "__main__":
    sys.exit(main())
