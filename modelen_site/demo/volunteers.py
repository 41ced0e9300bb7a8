"""Volunteers as people run them, two programs with a state folder each, and their progress."""

import os
import subprocess
from dataclasses import dataclass
from typing import Any

from rich.progress import TaskID

from modelen_site.demo import interrupt
from modelen_site.demo.children import Child, Children, Lines
from modelen_site.demo.places import Places
from modelen_site.demo.plan import DemoFailed, Plan
from modelen_site.demo.screen import Screen

POLL_S = 0.2


@dataclass(frozen=True)
class Traffic:
    """Bodies that the volunteers sent and received, in bytes."""

    up: int
    down: int


def train_run(
    plan: Plan, url: str, places: Places, children: Children, server: Child, screen: Screen
) -> Traffic:
    """Start the volunteers and follow them until the run is over.

    Raises:
        DemoFailed: one of them or the server has ended otherwise.
    """
    lines, volunteers = Lines(), []
    for number in range(1, plan.workers + 1):
        child = _start(f"volunteer-{number}", plan, url, places, children)
        volunteers.append(child)
        assert child.process.stdout is not None
        lines.follow(child.name, child.process.stdout)
    told = Told(screen)
    running = True
    while running:
        interrupt.check()
        server.demand_running()
        # A list, since each of them is to be looked at: one may have failed.
        ended = [child.ended for child in volunteers]
        running = not all(ended)
        if not running:
            lines.finish()
        for name, event in lines.arrived(POLL_S):
            told.hear(name, event)
    return told.traffic()


def _start(name: str, plan: Plan, url: str, places: Places, children: Children) -> Child:
    threads = max(1, (os.cpu_count() or 1) // plan.workers)
    return children.start(
        name,
        *("-m", "worker_client", "run", url, "--json"),
        *("--name", name),
        *("--state-dir", str(places.home / name)),
        *("--threads", str(threads)),
        stdout=subprocess.PIPE,
    )


class Told:
    """Turns the volunteers' events into bars and lines."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._bars: dict[str, TaskID] = {}
        self._ends: list[dict[str, Any]] = []

    def hear(self, name: str, event: dict[str, Any]) -> None:
        match event["event"]:
            case "started":
                self._bars[name] = self._screen.bar(name)
            case "ready":
                self._say(name, f"model loaded on {event['device']}, {event['dtype']}")
            case "step":
                note = f"round {event['round']}  loss {event['loss']:.3f}"
                self._screen.move(self._bars[name], event["step"], event["steps"], note)
            case "trained":
                change = f"loss {event['loss_first']:.3f} -> {event['loss_last']:.3f}"
                self._say(name, f"round {event['round']}: {change} in {event['train_s']:.1f} s")
            case "error":
                # A volunteer would try again; a demo in which something goes wrong is over.
                raise DemoFailed(f"{name}: {event['message']}")
            case "restarted":
                self._say(name, event["reason"])
            case "finished":
                self._ends.append(event)

    def traffic(self) -> Traffic:
        return Traffic(
            up=sum(end["bytes_up"] for end in self._ends),
            down=sum(end["bytes_down"] for end in self._ends),
        )

    def _say(self, name: str, text: str) -> None:
        self._screen.say(f"  {name}  {text}")
