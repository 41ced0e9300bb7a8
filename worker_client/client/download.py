"""Fetching a file in ranges: resumable, and used only when digest and size agree."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from requests import Response

from worker_client.client.faults import BadFile, Final, Passing
from worker_client.client.link import Link
from worker_client.client.patience import Patience
from worker_client.contract.wire import FileRef

MAX_BAD_FILES = 3
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})")

Report = Callable[[int, int], None]


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def part_path(folder: Path, ref: FileRef) -> Path:
    return folder / f"{ref.sha256}.part"


class Download:
    """One file on its way to ``folder/<sha256>``; what a killed worker left is continued."""

    def __init__(self, link: Link, patience: Patience, folder: Path, report: Report) -> None:
        self._link, self._patience = link, patience
        self._folder, self._report = folder, report

    def fetch(self, ref: FileRef) -> Path:
        """The complete file, from disk where it is there already.

        Raises:
            Final: refused for good, or wrong ``MAX_BAD_FILES`` times.
            Stopped: on a stop, between ranges; the part stays for the next start.
        """
        whole = self._folder / ref.sha256
        if whole.exists() and digest_of(whole) == ref.sha256:
            os.utime(whole)  # the newest stay when the folder is tidied
            return whole
        faults = 0
        while True:
            try:
                return self._fetch(ref, whole)
            except BadFile as fault:
                faults += 1
                part_path(self._folder, ref).unlink(missing_ok=True)
                self._give_up_or_wait(fault, faults)

    def _give_up_or_wait(self, fault: BadFile, faults: int) -> None:
        if faults >= MAX_BAD_FILES:
            raise Final(
                f"{fault.detail}; {faults} times now, so this coordinator (or a proxy on "
                "the way) is broken: tell who runs it"
            ) from None
        self._patience.outlast(fault)

    def _fetch(self, ref: FileRef, whole: Path) -> Path:
        part = part_path(self._folder, ref)
        offset = part.stat().st_size if part.exists() else 0
        if offset > ref.size:
            raise BadFile("the part on disk is longer than the file")
        while offset < ref.size:
            self._report(offset, ref.size)
            self._patience.call(lambda: self._fetch_range(ref, part))
            offset = part.stat().st_size
            self._patience.check_stop()
        self._report(ref.size, ref.size)
        if digest_of(part) != ref.sha256:
            raise BadFile(f"what came from {ref.path} has another digest than announced")
        return _publish(part, whole)

    def _fetch_range(self, ref: FileRef, part: Path) -> None:
        first = part.stat().st_size if part.exists() else 0
        last = min(first + ref.chunk_bytes, ref.size) - 1
        headers = {"Range": f"bytes={first}-{last}", "If-Range": f'"{ref.sha256}"'}
        with self._link.open("GET", ref.path, headers=headers) as response:
            check_range(response, first, last, ref.size)
            with part.open("ab") as file:
                for data in self._link.read(response, last + 1 - first):
                    file.write(data)
        # Else an answer without bytes would be asked for again and again, without a pause.
        if (have := part.stat().st_size) <= last:
            raise Passing(f"{have - first} of {last + 1 - first} bytes came; going on from there")


def check_range(response: Response, first: int, last: int, size: int) -> None:
    """Whether an answer is what was asked for.

    Raises:
        BadFile: the whole file instead of a range, or a range of other bytes.
    """
    if response.status_code != 206:
        raise BadFile(
            f"HTTP {response.status_code} instead of 206 for bytes {first} to {last}: the file "
            "is another one now, or the coordinator serves no ranges"
        )
    said = response.headers.get("Content-Range", "")
    found = _CONTENT_RANGE.fullmatch(said)
    if not found or [int(n) for n in found.groups()] != [first, last, size]:
        raise BadFile(f"asked for bytes {first}-{last}/{size}, got {said[:80]!r}")


def _publish(part: Path, whole: Path) -> Path:
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(whole)
    return whole
