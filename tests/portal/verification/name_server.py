"""A real name server, for tests that ask the system's own resolver."""

import ipaddress
import socket
import struct
import threading
from collections import Counter

A, CNAME, AAAA = 1, 5, 28
_ANSWER, _NO_SUCH_NAME, _SERVER_FAILURE = 0x8180, 0x8183, 0x8182


class NameServer:
    """Answers by UDP for the names of ``zone``.

    A name has one list of addresses per look-up; the last one stays. In place of a list stands
    ``"failure"``, or another name that this one is an alias of. ``asked`` counts the look-ups.
    """

    def __init__(self, host: str, zone: dict[str, list[list[str] | str]]) -> None:
        self.zone = zone
        self.asked: Counter[tuple[str, int]] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 53))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(4096)
            if not query:
                return
            self._socket.sendto(self._answer(query), sender)

    def _answer(self, query: bytes) -> bytes:
        name, end = _read_name(query, 12)
        (kind,) = struct.unpack_from("!H", query, end)
        flags, records = self._find(name, kind)
        head = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        return head + query[12 : end + 4] + b"".join(records)

    def _find(self, name: str, kind: int) -> tuple[int, list[bytes]]:
        if name not in self.zone:
            return _NO_SUCH_NAME, []
        row = self.zone[name]
        found = row[min(self.asked[name, kind], len(row) - 1)]
        self.asked[name, kind] += 1
        if found == "failure":
            return _SERVER_FAILURE, []
        if isinstance(found, str):
            flags, records = self._find(found, kind)
            return flags, [_record(name, CNAME, _write_name(found)), *records]
        addresses = [ipaddress.ip_address(text) for text in found]
        version = {A: 4, AAAA: 6}.get(kind)
        return _ANSWER, [_record(name, kind, a.packed) for a in addresses if a.version == version]


def _record(owner: str, kind: int, data: bytes) -> bytes:
    # A life of 0 s, as one who rebinds would have it.
    return _write_name(owner) + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def _read_name(message: bytes, start: int) -> tuple[str, int]:
    labels, at = [], start
    while length := message[at]:
        labels.append(message[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels).lower(), at + 1


def _write_name(name: str) -> bytes:
    labels = [bytes([len(label)]) + label.encode() for label in name.split(".")]
    return b"".join(labels) + b"\0"
