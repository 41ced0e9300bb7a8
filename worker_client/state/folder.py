"""The state folder: where it is, and one sub-folder per coordinator."""

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from worker_client.client.patience import BackoffRecord
from worker_client.contract.wire import Registration
from worker_client.state import atomic
from worker_client.state.lock import FolderLock
from worker_client.state.names import draw_name
from worker_client.state.records import Delivered, DeliveredList, Held, Name, Pseudonym, Work

ENVIRONMENT = "MODELEN_STATE_DIR"
MAX_KEPT_RESULTS = 8


def default_state_dir() -> Path:
    """``MODELEN_STATE_DIR``, else where this platform keeps a program's state."""
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named else platformdirs.user_state_path("modelen", appauthor=False)


def own_name(root: Path) -> str:
    """This folder's pseudonym, drawn once and kept."""
    path = root / "name.json"
    record = atomic.load(path, Name)
    if record is None:
        root.mkdir(parents=True, exist_ok=True)
        record = Name(name=draw_name())
        atomic.save(path, record)
    return record.name


def _folder_name(base_url: str) -> str:
    host = re.sub(r"[^a-z0-9.]+", "-", urlsplit(base_url).netloc.lower())
    return f"{host[:60]}-{hashlib.sha256(base_url.encode()).hexdigest()[:12]}"


def coordinator_folder(root: Path, base_url: str) -> Path:
    return root / "coordinators" / _folder_name(base_url)


def load_pseudonym(folder: Path, name: str) -> Pseudonym | None:
    """The name as a coordinator's ``folder`` knows it; reading needs no lock."""
    return atomic.load(folder / f"pseudonym-{name}.json", Pseudonym)


class CoordinatorState:
    """Everything remembered about one coordinator. Entering takes the folder's lock."""

    def __init__(self, root: Path, base_url: str) -> None:
        self.folder = coordinator_folder(root, base_url)
        self.files = self.folder / "files"
        self.results = self.folder / "results"
        self.texts = self.folder / "texts"
        self.trainer_log = self.folder / "trainer.log"
        self._lock = FolderLock(self.folder / "lock")
        self._base_url = base_url

    def __enter__(self) -> "CoordinatorState":
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.folder, self.files, self.results, self.texts):
            folder.mkdir(mode=0o700, exist_ok=True)  # the lease key is nobody else's business
        self._lock.acquire()
        self.forget_texts()  # of a worker that was killed
        (self.folder / "address.txt").write_text(self._base_url + "\n", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    # Back-off

    def load_backoff(self) -> BackoffRecord:
        return atomic.load(self.folder / "backoff.json", BackoffRecord) or BackoffRecord()

    def save_backoff(self, record: BackoffRecord) -> None:
        atomic.save(self.folder / "backoff.json", record)

    # Who we are here

    def pseudonym(self, name: str) -> Pseudonym:
        """The name with its token, drawn at the first call and kept."""
        known = load_pseudonym(self.folder, name)
        return known or self._keep(Pseudonym(name=name, token=Registration.draw_token()))

    def next_sequence(self, name: str) -> int:
        """A number above all that were drawn for the name before; on disk when it returns."""
        known = self.pseudonym(name)
        return self._keep(known.model_copy(update={"sequence": known.sequence + 1})).sequence

    def take_over(self, name: str, sequence: int) -> None:
        """Go on above ``sequence``; a request that was drawn below it is dropped."""
        known = self.pseudonym(name)
        self._keep(known.model_copy(update={"sequence": max(known.sequence, sequence)}))
        work = self.load_work()
        if work and work.result is None:
            self.forget_work()

    def _keep(self, pseudonym: Pseudonym) -> Pseudonym:
        atomic.save(self.folder / f"pseudonym-{pseudonym.name}.json", pseudonym)
        return pseudonym

    # Work in hand

    def load_work(self) -> Work | None:
        return atomic.load(self.folder / "work.json", Work)

    def save_work(self, work: Work) -> None:
        atomic.save(self.folder / "work.json", work)

    def forget_work(self) -> None:
        atomic.remove(self.folder / "work.json")

    def result_path(self, lease_id: str) -> Path:
        return self.results / f"{lease_id}.safetensors"

    def forget_texts(self) -> None:
        """Other people's text is here only while it is worked on."""
        for path in self.texts.iterdir():
            path.unlink()

    # The snapshot that is here

    def load_held(self) -> Held | None:
        held = atomic.load(self.folder / "held.json", Held)
        return held if held and (self.files / held.sha256).is_file() else None

    def save_held(self, held: Held) -> None:
        atomic.save(self.folder / "held.json", held)

    # What encodings left out

    @property
    def residual(self) -> Path:
        """What accepted deltas have left out so far; not there at first."""
        return self.folder / "residual.f32"

    def keep_residual(self, lease_id: str) -> None:
        """Its delta was accepted: what that left out goes into the next. Safe to do twice."""
        left = self.left_path(lease_id)
        if left.exists():
            left.replace(self.residual)

    def clear_residual(self) -> None:
        """A delta was not merged, and so nor was what it made up for."""
        self.residual.unlink(missing_ok=True)

    def left_path(self, lease_id: str) -> Path:
        return self.result_path(lease_id).with_suffix(".left")

    # Work delivered

    def load_delivered(self) -> list[Delivered]:
        record = atomic.load(self.folder / "delivered.json", DeliveredList)
        return record.results if record else []

    def save_delivered(self, results: list[Delivered]) -> None:
        """Remember the newest ``MAX_KEPT_RESULTS``; older ones and their files are let go."""
        kept = results[-MAX_KEPT_RESULTS:]
        atomic.save(self.folder / "delivered.json", DeliveredList(results=kept))
        self.tidy_results()

    def tidy_results(self) -> None:
        """Remove result files that neither the work in hand nor a delivery names."""
        named = {result.lease_id for result in self.load_delivered()}
        work = self.load_work()
        if work and work.task and work.result:
            named.add(work.task.lease_id)
        for path in self.results.iterdir():
            if path.name.split(".")[0] not in named:
                path.unlink()

    def tidy_files(self, keep: set[str], limit: int) -> None:
        """Drop parts of files not in ``keep``, then the oldest others until ``limit`` bytes."""
        others = [p for p in self.files.iterdir() if p.name.removesuffix(".part") not in keep]
        for path in [p for p in others if p.suffix == ".part"]:
            path.unlink()
        whole = sorted((p for p in others if p.exists()), key=lambda p: p.stat().st_mtime)
        excess = self.used_bytes() - limit
        for path in whole:
            if excess <= 0:
                return
            excess -= path.stat().st_size
            path.unlink()

    def used_bytes(self) -> int:
        """What files and results take on disk."""
        folders = (self.files, self.results, self.texts)
        return sum(p.stat().st_size for folder in folders for p in folder.iterdir())
