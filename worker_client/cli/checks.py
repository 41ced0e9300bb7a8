"""The checks behind ``doctor``: each looks at one thing and knows the remedy."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

from worker_client.client.coordinator import about
from worker_client.client.faults import Fault
from worker_client.client.link import Link
from worker_client.contract.addresses import AddressRefused, check_base_url
from worker_client.contract.formats import AdapterFormat, known_formats, load_format
from worker_client.contract.wire import About
from worker_client.display.events import size
from worker_client.loop.limits import TaskRefused, check_about

OLDEST, NEWEST = (3, 11), (3, 13)
ENOUGH_DISK_BYTES = 2 * 10**9
ENOUGH_MEMORY_BYTES = 3 * 10**9  # Qwen3-0.6B trains in about 2.5 GB
CLOCK_SKEW_S = 60.0


@dataclass(frozen=True)
class Check:
    """``remedy`` is empty when all is well."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def check_python() -> Check:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    ok = OLDEST <= sys.version_info[:2] <= NEWEST
    return Check("python", ok, version, "" if ok else "install Python 3.11, 3.12 or 3.13")


def check_torch(device: str) -> Check:
    try:
        import torch

        from worker_client.training.device import choose_device
        from worker_client.training.errors import DeviceMissing
    except ImportError as error:
        remedy = "pip install -r worker_client/requirements.txt"
        return Check("torch", False, str(error), remedy)
    try:
        chosen = choose_device(device)
    except DeviceMissing as error:
        return Check("torch", False, f"torch {torch.__version__}", str(error))
    slow = "" if chosen.dtype_name == "bfloat16" else " (no native bfloat16: slower)"
    return Check("torch", True, f"{torch.__version__}, {chosen.label}, {chosen.dtype_name}{slow}")


def check_disk(folder: Path) -> Check:
    """Free space where the state folder is, or will be."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        return Check("disk", False, f"{there} cannot be written to", "choose another --state-dir")
    ok = free >= ENOUGH_DISK_BYTES
    remedy = "" if ok else f"free {size(ENOUGH_DISK_BYTES)} or choose another --state-dir"
    return Check("disk", ok, f"{size(free)} free for {folder}", remedy)


def check_memory() -> Check:
    total = _memory_bytes()
    if total is None:
        return Check("memory", True, "unknown on this platform")
    ok = total >= ENOUGH_MEMORY_BYTES
    remedy = "" if ok else "join a run with a smaller model (models list shows them)"
    return Check("memory", ok, size(total), remedy)


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_models(models_dir: str | None, wanted: str | None) -> Check:
    """Whether a base model is here: the run's where it is known, else any."""
    try:
        from worker_client.models.store import ModelStore
    except ImportError as error:
        return Check("models", False, str(error), "pip install -r worker_client/requirements.txt")
    store = ModelStore(models_dir)
    formats = [load_format(name) for name in ([wanted] if wanted else known_formats())]
    if wanted and not isinstance(formats[0], AdapterFormat):
        return Check("models", True, f"{wanted} needs no base model")
    adapters = [fmt for fmt in formats if isinstance(fmt, AdapterFormat)]
    here = [fmt.id for fmt in adapters if store.has(fmt.base_model)]
    if here:
        return Check("models", True, f"{', '.join(here)} in {store.root}")
    get = f"python -m worker_client models fetch {wanted or 'qwen3-0.6b-lora-r16'}"
    return Check("models", False, f"no {wanted or 'base model'} in {store.root}", get)


class CoordinatorCheck:
    """Reaches a coordinator once; yields its checks and remembers its format."""

    def __init__(self, url: str, allow_http: bool) -> None:
        self._url, self._allow_http = url, allow_http
        self.format: str | None = None

    def checks(self) -> Iterator[Check]:
        try:
            link = Link(check_base_url(self._url, allow_http=self._allow_http))
            headers = link.call("GET", "/durum").headers
            facts = about(link)
            if facts:
                self.format = check_about(facts).id
        except (AddressRefused, TaskRefused) as error:
            yield Check("coordinator", False, self._url, str(error))
            return
        except Fault as fault:
            remedy = "check the address and this network's proxy (HTTPS_PROXY), or try later"
            yield Check("coordinator", False, fault.detail, remedy)
            return
        yield Check("coordinator", True, _introduce(facts) if facts else self._url)
        yield check_clock(headers.get("Date", ""))


def _introduce(facts: About) -> str:
    closed = "" if facts.open_to_all else " (closed: an admin approves each volunteer)"
    return f"{facts.name}{closed}"


def check_clock(date: str) -> Check:
    """This computer's clock against a coordinator's ``Date`` header."""
    try:
        skew = time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return Check("clock", True, "the coordinator does not tell the time")
    ok = abs(skew) <= CLOCK_SKEW_S
    detail = f"{abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
    remedy = "" if ok else "set this computer's clock by the network (NTP)"
    return Check("clock", ok, detail, remedy)
