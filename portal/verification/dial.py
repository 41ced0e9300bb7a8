"""Connections of the SSRF-proof client: one look-up, every address vetted, one deadline for all."""

import io
import ipaddress
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from django.conf import settings

from portal.verification.address import Origin
from portal.verification.codes import Code
from portal.verification.vet import IPAddress, is_public

# One silent address of several must not use up the time of all.
CONNECT_S = 3.0
# Body, head and the framing of chunks together; a head alone could go on for ever.
MAX_RAW_BYTES = 128 * 1024
# OpenSSL's "hostname mismatch" and "IP address mismatch".
_MISMATCHES = (62, 64)

Connection = socket.socket | ssl.SSLSocket


class Failed(Exception):
    """A fetch ended; ``code`` says how."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.value)
        self.code = code


class Deadline:
    """A point in time, ``seconds`` from now, that everything has to keep."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left; raises TimeoutError when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def look_up(host: str, deadline: Deadline) -> list[IPAddress]:
    """Return all addresses of ``host``, asking the resolver once.

    Raises:
        Failed: it has none, or the answer does not come in time.
    """
    answers: SimpleQueue[list[IPAddress] | Code] = SimpleQueue()
    # A thread, since the system's resolver knows no deadline.
    Thread(target=lambda: answers.put(_ask(host)), name="look-up", daemon=True).start()
    try:
        answer = answers.get(timeout=deadline.left())
    except (Empty, TimeoutError) as error:
        raise Failed(Code.DNS_TIMEOUT) from error
    if isinstance(answer, Code):
        raise Failed(answer)
    return answer


def _ask(host: str) -> list[IPAddress] | Code:
    try:
        rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except socket.gaierror as error:
        return Code.DNS_TIMEOUT if error.errno == socket.EAI_AGAIN else Code.DNS_NOT_FOUND
    except (OSError, UnicodeError):
        return Code.DNS_NOT_FOUND
    found = dict.fromkeys(ipaddress.ip_address(row[4][0]) for row in rows)
    return list(found) or Code.DNS_NOT_FOUND


def vet(addresses: list[IPAddress], origin: Origin) -> None:
    """Raises Failed unless every one of ``addresses`` may be connected to for ``origin``.

    All must pass: a name that leads to one private address means no good with the others.
    Where settings trust loopback, a host that says it is this computer must be it.
    """
    is_own = settings.MODELEN_TRUST_LOOPBACK and origin.is_loopback
    if not all(address.is_loopback if is_own else is_public(address) for address in addresses):
        raise Failed(Code.DNS_PRIVATE_ADDRESS)


@contextmanager
def connected(
    origin: Origin, addresses: list[IPAddress], deadline: Deadline
) -> Iterator["TimedConnection"]:
    """Connect to the first of the vetted ``addresses`` that answers, with TLS for https.

    Raises:
        Failed: none answers, or it is not who it should be.
    """
    plain, used = _dial(addresses, origin.port, deadline)
    try:
        connection = _secure(plain, origin.host, deadline) if origin.scheme == "https" else plain
    except BaseException:
        plain.close()
        raise
    with connection:
        yield TimedConnection(connection, str(used), deadline)


def _dial(
    addresses: list[IPAddress], port: int, deadline: Deadline
) -> tuple[socket.socket, IPAddress]:
    failure = Failed(Code.CONNECT_FAILED)
    for address in addresses:
        try:
            return _connect(address, port, min(CONNECT_S, deadline.left())), address
        except TimeoutError:
            failure = Failed(Code.CONNECT_TIMEOUT)
        except ConnectionRefusedError:
            failure = Failed(Code.CONNECT_REFUSED)
        except OSError:
            continue
    raise failure


def _connect(address: IPAddress, port: int, timeout: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        connection.connect((str(address), port))
    except BaseException:
        connection.close()
        raise
    return connection


def _secure(plain: socket.socket, host: str, deadline: Deadline) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    try:
        plain.settimeout(deadline.left())
        return context.wrap_socket(plain, server_hostname=host)
    except TimeoutError as error:
        raise Failed(Code.SLOW_RESPONSE) from error
    except ssl.SSLCertVerificationError as error:
        is_other = error.verify_code in _MISMATCHES
        raise Failed(Code.TLS_NAME_MISMATCH if is_other else Code.TLS_INVALID) from error
    except OSError as error:
        raise Failed(Code.TLS_INVALID) from error


class TimedConnection:
    """As much of a socket as ``http.client`` uses; each wait ends at the deadline."""

    def __init__(self, connection: Connection, used: str, deadline: Deadline) -> None:
        self.used = used
        self._connection = connection
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._connection.settimeout(self._deadline.left())
        self._connection.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self._connection, self._deadline))

    def close(self) -> None:
        """Nothing: the context that connected closes."""


class _Incoming(io.RawIOBase):
    def __init__(self, connection: Connection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._left = MAX_RAW_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self._deadline.left())
        count = self._connection.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise Failed(Code.TOO_LARGE)
        return count
