"""Delivering a result: in resumable chunks where the coordinator can, else as one body."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from worker_client.client.faults import Final, Passing, ProtocolBroken
from worker_client.client.link import Answer, Link
from worker_client.client.patience import Patience
from worker_client.contract import LEASE_KEY_HEADER, UPLOAD_OFFSET_HEADER, wire

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Parcel:
    """A finished result: which lease it belongs to and the file as it was announced."""

    lease_id: str
    lease_key: str
    path: Path
    sha256: str
    size: int

    @property
    def address(self) -> str:
        return f"/sonuc?gorev={self.lease_id}"

    @property
    def headers(self) -> dict[str, str]:
        return {LEASE_KEY_HEADER: self.lease_key}


class Upload:
    """Brings one parcel to its verdict, over broken lines and restarted coordinators."""

    def __init__(self, link: Link, patience: Patience, report: Report) -> None:
        self._link, self._patience, self._report = link, patience, report

    def deliver(self, parcel: Parcel) -> wire.Verdict:
        """The coordinator's acceptance.

        Raises:
            Final: refused for good; the file can go (but not after ProtocolBroken).
            Stopped: a stop while the coordinator cannot be reached; the file must stay.
        """
        while True:
            state = self._patience.call(lambda: self._announce(parcel), resets=False)
            if isinstance(state, wire.Verdict):
                return state
            if state is None:
                return self._patience.call(lambda: self._send_whole(parcel))
            try:
                return self._send_chunks(parcel, state)
            except Passing as fault:
                self._patience.outlast(fault)

    def _announce(self, parcel: Parcel) -> wire.UploadState | wire.Verdict | None:
        """Where to go on, or the verdict if every byte is there, or None: only whole files."""
        message = wire.Announcement(size=parcel.size, sha256=parcel.sha256)
        try:
            answer = self._link.send("PUT", parcel.address, message, parcel.headers)
        except Final as fault:
            if fault.status == 405:
                return None
            raise
        if b'"kabul"' in answer.body:
            return _verdict(answer, parcel)
        state = answer.parse(wire.UploadState)
        if state.offset > parcel.size:
            raise ProtocolBroken("the coordinator says it has more bytes than the file")
        return state

    def _send_chunks(self, parcel: Parcel, state: wire.UploadState) -> wire.Verdict:
        offset = state.offset
        with parcel.path.open("rb") as file:
            while offset < parcel.size:
                self._report(offset, parcel.size)
                answer = self._send_chunk(parcel, file, offset, state.chunk_bytes)
                if answer.status != 204:
                    self._report(parcel.size, parcel.size)
                    return _verdict(answer, parcel)
                self._patience.backoff.succeeded()
                offset = _next_offset(answer, offset, parcel.size)
        raise Passing("the coordinator has every byte and no verdict yet")

    def _send_chunk(self, parcel: Parcel, file: BinaryIO, offset: int, length: int) -> Answer:
        file.seek(offset)
        headers = parcel.headers | {
            UPLOAD_OFFSET_HEADER: str(offset),
            "Content-Type": "application/octet-stream",
        }
        return self._link.call("PATCH", parcel.address, body=file.read(length), headers=headers)

    def _send_whole(self, parcel: Parcel) -> wire.Verdict:
        digest = base64.b64encode(bytes.fromhex(parcel.sha256)).decode()
        headers = parcel.headers | {
            "Content-Digest": f"sha-256=:{digest}:",
            "Content-Type": "application/octet-stream",
        }
        with parcel.path.open("rb") as file:
            body = _Counted(file, parcel.size, self._report)
            answer = self._link.call("POST", parcel.address, body=body, headers=headers)
        return _verdict(answer, parcel)


class _Counted:
    """A file that reports how much of it was read; requests takes its length from ``__len__``."""

    def __init__(self, file: BinaryIO, size: int, report: Report) -> None:
        self._file, self._size, self._report = file, size, report

    def __len__(self) -> int:
        return self._size

    def seek(self, offset: int) -> None:
        self._file.seek(offset)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, count: int = -1) -> bytes:
        data = self._file.read(count)
        self._report(self._file.tell(), self._size)
        return data


def _next_offset(answer: Answer, offset: int, size: int) -> int:
    value = answer.headers.get(UPLOAD_OFFSET_HEADER, "")
    if not value.isdecimal() or not offset < int(value[:20]) <= size:
        raise Passing(f"the coordinator says it has {value[:30]!r} bytes of {size}")
    return int(value)


def _verdict(answer: Answer, parcel: Parcel) -> wire.Verdict:
    verdict = answer.parse(wire.Verdict)
    if verdict.sha256 != parcel.sha256 or verdict.lease_id != parcel.lease_id:
        raise Passing("the verdict is about another result")
    if not verdict.accepted:
        raise Final("the coordinator did not accept the result")
    return verdict
