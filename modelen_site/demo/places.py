"""Where the demo keeps things, and the environment in which everything of it runs."""

import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from modelen_site.demo.plan import DemoFailed

PROJECT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
# The demo is the embedded default, whatever site this shell is set up for.
SITE_SETTINGS = ("DATABASE_URL", "REDIS_URL", "PORT")
KEPT = ("MODELEN_MODELS_DIR", "MODELEN_LOG_LEVEL")


@dataclass(frozen=True)
class Places:
    """``home`` is made anew by each demo; ``cache`` and ``models`` stay for the next one."""

    home: Path
    cache: Path
    models: Path

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @classmethod
    def below(cls, var: Path) -> "Places":
        models = os.environ.get("MODELEN_MODELS_DIR")
        return cls(var / "demo", var / "cache", Path(models) if models else var / "models")


def var_folder() -> Path:
    return Path(os.environ.get("MODELEN_VAR") or PROJECT / "var").resolve()


def clear(places: Places) -> None:
    """Remove the state of the last demo."""
    shutil.rmtree(places.home, ignore_errors=True)
    places.logs.mkdir(parents=True)


def set_environment(places: Places) -> None:
    """Point this process and its children at the demo's own state. Before Django is set up."""
    for name in list(os.environ):
        if name in SITE_SETTINGS or (name.startswith("MODELEN_") and name not in KEPT):
            del os.environ[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "modelen_site.settings"
    os.environ["MODELEN_VAR"] = str(places.home)
    os.environ["MODELEN_MODELS_DIR"] = str(places.models)
    # The coordinator's address is on this computer, which a portal otherwise refuses to look at.
    os.environ["MODELEN_TRUST_LOOPBACK"] = "1"
    # Nothing but the two wheels is fetched, and from nowhere else.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def free_port(wanted: int) -> int:
    """``wanted``, or with 0 any free port of this computer.

    Raises:
        DemoFailed: it is taken.
    """
    with socket.socket() as probe:
        # As the server does it: a connection that has just ended does not keep the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError as error:
            raise DemoFailed(
                f"port {wanted} cannot be used ({error.strerror}); stop what listens there, or "
                f"choose another: make demo PORT={wanted + 10}"
            ) from error
        return int(probe.getsockname()[1])
