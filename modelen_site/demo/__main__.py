"""``python -m modelen_site.demo``: what ``make demo`` runs.

A command of its own rather than one of ``manage.py``'s, since it decides where Django's state
lies, which has to happen before Django reads its settings.
"""

import argparse
import sys
import time

from modelen_site.demo import interrupt, places
from modelen_site.demo.plan import PLANS, DemoFailed, Plan

STARTED = time.monotonic()
INTERRUPTED = 130


def main() -> int:
    options = build_parser().parse_args()
    interrupt.listen()
    try:
        return run(PLANS[options.format], options.port)
    except DemoFailed as error:
        print(f"The demo has stopped: {error}", file=sys.stderr)
        return 1


def run(plan: Plan, port: int) -> int:
    found = places.Places.below(places.var_folder())
    port = places.free_port(port)
    places.clear(found)
    places.set_environment(found)

    import django

    django.setup()
    from modelen_site.demo.screen import Screen
    from modelen_site.demo.story import Story

    story = Story(plan, found, port, Screen())
    try:
        story.tell(lambda: time.monotonic() - STARTED)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 0 if story.summary_path.exists() else INTERRUPTED
    return 0


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="where to serve; 0 takes a free one")
    parser.add_argument(
        "--format",
        choices=sorted(PLANS),
        default="smollm2-135m-lora-r16",
        help="which model; the tiny one goes through the same story in seconds",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
