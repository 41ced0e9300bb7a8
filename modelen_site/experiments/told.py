"""What workers' events (``worker_client.display.events``) add up to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from modelen_site.demo.plan import DemoFailed


@dataclass
class Told:
    """What the workers' events add up to. Bytes by round; what is fetched once is apart."""

    up: Counter[int] = field(default_factory=Counter)
    down: Counter[int] = field(default_factory=Counter)
    once: Counter[str] = field(default_factory=Counter)
    wire: Counter[str] = field(default_factory=Counter)
    device: str = ""
    dtype: str = ""
    rounds: dict[str, int] = field(default_factory=dict)
    received: Counter[str] = field(default_factory=Counter)
    begun: set[str] = field(default_factory=set)

    def hear(self, name: str, event: dict[str, Any]) -> None:
        """``name`` is the worker's.

        Raises:
            DemoFailed: something went wrong that a volunteer would try again.
        """
        match event["event"]:
            case "ready":
                self.device, self.dtype = event["device"], event["dtype"]
            case "leased":
                self.rounds[event["lease_id"]] = event["round"]
            case "downloaded":
                self._downloaded(name, event)
            case "uploaded":
                self.up[event["round"]] += event["bytes"]
            case "finished":
                self.wire.update(up=event["bytes_up"], down=event["bytes_down"])
            case "error":
                raise DemoFailed(f"{name}: {event['message']}")

    def _downloaded(self, name: str, event: dict[str, Any]) -> None:
        """A file that was there already, or was made of an update, is told of as well."""
        what, before = event["what"], self.received[name]
        self.received[name] = event["bytes_down"]
        if event["bytes_down"] - before < event["bytes"]:
            return
        if what == "data" or (what == "snapshot" and name not in self.begun):
            self.once[what] += event["bytes"]
        else:
            self.down[self.rounds[event["lease_id"]]] += event["bytes"]
        self.begun |= {name} if what == "snapshot" else set()

    def until(self, number: int) -> tuple[int, int]:
        """Bytes up and down of the rounds up to ``number``."""
        up, down = (sum(n for r, n in c.items() if r <= number) for c in (self.up, self.down))
        return up, down
