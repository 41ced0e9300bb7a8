"""The directory with 10,000 coordinators, over HTTP through all middleware.

    python -m benchmarks.directory [--coordinators 10000] [--requests 200]

Every request asks something else (filters, words, orders, pages). Requests for an empty view are
made in between, so that both see the same machine; the bar is the ratio of the medians.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import requests

from benchmarks.table import Bar, judge, print_table
from tests.modelen_site.processes import serving

EMPTY = "/healthz"
LIMIT = 4.0
COLD = 8
WORDS = (
    "wikipedia ışık tales news poetry law medicine radio drama code maths letters school "
    "history sport kitchen travel music garden sea mountain city village forest river"
).split()
LANGUAGES = ("tr", "en", "de", "fr", "ar", "ku", "az", "es", "it", "nl")
MODELS = tuple(f"org{number}/model-{number}B" for number in range(12))


def fill(count: int) -> None:
    """Coordinators in the database of this process, nine of ten of them listed."""
    from django.core.management import call_command
    from django.utils import timezone

    from portal.directory.fold import folded
    from portal.models import Coordinator, Presence, Proof, State

    call_command("migrate", verbosity=0, interactive=False)
    draw, now = random.Random(0), timezone.now()

    def make(number: int) -> Coordinator:
        name = " ".join(draw.sample(WORDS, 3)).title()
        coordinator = Coordinator(
            name=f"{name} {number}",
            slug=f"c{number}",
            address=f"https://c{number}.example.org/c/run",
            description=" ".join(draw.choices(WORDS, k=60)),
            base_model=draw.choice(MODELS),
            mode=draw.choice(["cpt", "sft", "scratch"]),
            languages=",".join(draw.sample(LANGUAGES, 2)),
            data_source=" ".join(draw.choices(WORDS, k=20)),
            proof_token=str(number),
            state=State.APPROVED if number % 10 else State.SUBMITTED,
            proof=Proof.VERIFIED,
            verified_at=now,
            approved_at=now,
            presence=draw.choice(Presence.values),
            heartbeat_at=now,
            round=draw.randrange(1, 100),
            rounds=100,
            workers=draw.randrange(200),
            loss=draw.uniform(1, 6),
        )
        for field, text in folded(coordinator).items():
            setattr(coordinator, field, text)
        return coordinator

    rows = (make(number) for number in range(count))
    while batch := list(islice(rows, 500)):
        Coordinator.objects.bulk_create(batch)


def paths() -> Iterator[str]:
    """Endless varied requests for pages of the directory."""
    draw = random.Random(1)
    choices: dict[str, Callable[[], Any]] = {
        "q": lambda: " ".join(draw.sample(WORDS, draw.choice([1, 1, 2]))),
        "presence": lambda: draw.choice(["online", "late", "offline", "never"]),
        "mode": lambda: draw.choice(["cpt", "sft", "scratch"]),
        "model": lambda: draw.choice(MODELS),
        "language": lambda: draw.choice(LANGUAGES),
        "sort": lambda: draw.choice(["new", "name", "workers", "heard"]),
        "page": lambda: draw.randrange(1, 12),
    }
    while True:
        asked = draw.sample(sorted(choices), draw.randrange(4))
        query = {name: choices[name]() for name in asked}
        yield requests.Request("GET", "http://x/coordinators/", params=query).prepare().path_url


def timed(session: requests.Session, url: str) -> float:
    """Milliseconds until the whole answer is here."""
    start = time.perf_counter()
    answer = session.get(url, timeout=60)
    took = 1000 * (time.perf_counter() - start)
    answer.raise_for_status()
    return took


def measure(base: str, count: int) -> int:
    """Print the table; returns the exit code."""
    session, asked = requests.Session(), paths()
    timed(session, base + EMPTY)
    cold = [timed(session, base + path) for path in islice(asked, COLD)]
    empty, pages, details = [], [], []
    for number, path in enumerate(islice(asked, count)):
        empty.append(timed(session, base + EMPTY))
        pages.append(timed(session, base + path))
        details.append(timed(session, f"{base}/coordinators/c{10 * number + 1}/"))
    named = {"an empty view": empty, "directory": pages, "a coordinator's page": details}
    print_table(
        f"The directory over HTTP, milliseconds ({count} requests of each, in turn)",
        ("", "median", "p90", "worst", "of the empty view's"),
        [row(name, times, statistics.median(empty)) for name, times in named.items()],
    )
    print(f"first {COLD} pages of a fresh server: {', '.join(f'{ms:.1f}' for ms in cold)} ms")
    ratio = statistics.median(pages) / statistics.median(empty)
    return judge([Bar("directory's median by an empty view's", ratio, LIMIT, "times")])


def row(name: str, times: list[float], empty: float) -> tuple[str, ...]:
    median, p90 = statistics.median(times), statistics.quantiles(times, n=10)[-1]
    numbers = (f"{value:.1f}" for value in (median, p90, max(times)))
    return (name, *numbers, f"{median / empty:.2f} x")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coordinators", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MODELEN_VAR": folder, "DJANGO_SETTINGS_MODULE": "modelen_site.settings"}
        import django

        django.setup()
        fill(arguments.coordinators)
        django.db.connection.close()
        with serving("manage.py", "serve", "--port", "0", MODELEN_LOG_LEVEL="WARNING") as server:
            return measure(server.url, arguments.requests)


if __name__ == "__main__":
    sys.exit(main())
