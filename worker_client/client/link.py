"""One attempt at one request: what may be sent where, and what an answer means.

Retrying is ``patience``'s business; here every failure becomes ``Passing`` or ``Final``.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import urljoin

import requests
from pydantic import ValidationError
from urllib3.exceptions import HTTPError

from worker_client.client import deadlines
from worker_client.client.faults import BadFile, Final, Passing, ProtocolBroken
from worker_client.contract import MAX_JSON_BYTES, PROTOCOL_HEADER, PROTOCOL_VERSION, wire
from worker_client.contract.addresses import is_below, join
from worker_client.version import USER_AGENT

MAX_REDIRECTS = 5
READ_BYTES = 64 * 1024
PASSING_STATUSES = frozenset({408, 425, 429})

M = TypeVar("M", bound=wire.Message)


class Rewindable(Protocol):
    """A body that is sent as it is read, from its start at every attempt."""

    def seek(self, offset: int, /) -> object: ...

    def tell(self) -> int: ...

    def read(self, count: int = -1, /) -> bytes: ...


Body = bytes | Rewindable | None


@dataclass
class Traffic:
    """Bytes of bodies that went over the line, both ways."""

    up: int = 0
    down: int = 0


@dataclass(frozen=True)
class Answer:
    """A successful answer whose body (at most 64 KiB) was read."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def parse(self, model: type[M]) -> M:
        """The body as a message.

        Raises:
            ProtocolBroken: it is not JSON or a number is outside the protocol's ranges.
        """
        try:
            return model.model_validate_json(self.body)
        except ValidationError as error:
            why = wire.explain(error)
            raise ProtocolBroken(f"the coordinator's answer breaks the protocol: {why}") from None


class _Session(requests.Session):
    """Leaves redirects alone, which it would parse even when it is not to follow them."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class Link:
    """Requests to one coordinator, all below ``base_url``. Not to be shared between threads.

    ``source`` is the address of this computer they leave from, where it has several; ``token`` is
    what owns the worker's name here, and nothing else is ever sent it.
    """

    def __init__(self, base_url: str, traffic: Traffic | None = None, source: str = "") -> None:
        self.base_url, self.source = base_url, source
        self.traffic = traffic or Traffic()
        self.token: str | None = None
        self._session = _Session()
        # Without this, requests would send passwords it finds in the person's .netrc.
        self._session.auth = lambda request: request
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for prefix in ("http://", "https://"):
            self._session.mount(prefix, deadlines.DeadlineAdapter(source))
        self._session.headers.update(
            {
                "User-Agent": USER_AGENT,
                PROTOCOL_HEADER: str(PROTOCOL_VERSION),
                "Accept-Encoding": "identity",
                "Accept": "*/*",
            }
        )

    def close(self) -> None:
        self._session.close()

    def twin(self) -> "Link":
        """Another line to the same coordinator, for another thread."""
        twin = Link(self.base_url, self.traffic, self.source)
        twin.token = self.token
        return twin

    def call(
        self, method: str, path: str, *, body: Body = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request and read its small answer.

        Raises:
            Passing: no answer, or one that says (or implies) try again.
            Final: a refusal for good.
        """
        with self.open(method, path, body=body, headers=headers) as response:
            answer = Answer(response.status_code, response.headers, self._read_small(response))
        return answer

    def send(
        self,
        method: str,
        path: str,
        message: wire.Message,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """``call`` with a JSON body."""
        body = message.model_dump_json(by_alias=True, exclude_none=True).encode()
        return self.call(
            method, path, body=body, headers={"Content-Type": "application/json", **(headers or {})}
        )

    @contextmanager
    def open(
        self, method: str, path: str, *, body: Body = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[requests.Response]:
        """A successful answer with its body still to be read; raises as ``call`` does."""
        response = self._follow(method, join(self.base_url, path), body, dict(headers or {}))
        with response:
            self._judge(response)
            yield response

    def read(self, response: requests.Response, limit: int) -> Iterator[bytes]:
        """The body as it arrives, at most ``limit`` bytes, cut off if it drips.

        Raises:
            BadFile: encoded, or longer than ``limit``.
            Passing: too slow, or the line broke.
        """
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise BadFile("the answer is encoded although identity was asked for")
        pace, left = deadlines.Pace(), limit
        while data := self._read_some(response):
            self.traffic.down += len(data)
            left -= len(data)
            if left < 0:
                raise BadFile(f"the answer is longer than the {limit} bytes it may have")
            pace.add(len(data))
            yield data

    def _read_some(self, response: requests.Response) -> bytes:
        with _as_passing():
            return response.raw.read1(READ_BYTES, decode_content=False)

    def _read_small(self, response: requests.Response) -> bytes:
        body, stop = bytearray(), time.monotonic() + deadlines.JSON_BODY_S
        try:
            for data in self.read(response, MAX_JSON_BYTES):
                body += data
                if time.monotonic() > stop:
                    raise Passing("the answer did not end in time")
        except BadFile as fault:
            raise Passing(fault.detail, status=response.status_code) from None
        return bytes(body)

    def _follow(
        self, method: str, url: str, body: Body, headers: dict[str, str]
    ) -> requests.Response:
        for _ in range(MAX_REDIRECTS):
            response = self._request(method, url, body, headers)
            if response.status_code not in (301, 302, 303, 307, 308):
                return response
            with response:
                url = self._redirected(method, response)
        raise Passing("the coordinator redirects in a circle")

    def _request(
        self, method: str, url: str, body: Body, headers: dict[str, str]
    ) -> requests.Response:
        if self.token:
            headers = headers | {"Authorization": f"Bearer {self.token}"}
        with self._counted(body), _as_passing():
            return self._session.request(
                method,
                url,
                data=cast(Any, body),
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(deadlines.CONNECT_S, deadlines.SILENCE_S),
            )

    @contextmanager
    def _counted(self, body: Body) -> Iterator[None]:
        if body is None or isinstance(body, bytes):
            self.traffic.up += len(body or b"")
            yield
            return
        body.seek(0)
        try:
            yield
        finally:
            self.traffic.up += body.tell()

    def _redirected(self, method: str, response: requests.Response) -> str:
        target = _target(response)
        repeatable = method in ("GET", "HEAD") or response.status_code in (307, 308)
        if is_below(self.base_url, target) and repeatable:
            return target
        detail = (
            f"refused a redirect to {target[:200]}, outside {self.base_url}; if the run has "
            "moved, start again with its new address"
        )
        if PROTOCOL_HEADER not in response.headers:
            raise Passing(detail + " (or log in to this network first)")
        raise Final(detail, status=response.status_code)

    def _judge(self, response: requests.Response) -> None:
        status = response.status_code
        wait = _retry_after(response.headers)
        if PROTOCOL_HEADER not in response.headers:
            raise Passing(
                f"HTTP {status} without {PROTOCOL_HEADER}: not from a coordinator; is the "
                "address right, and does a proxy or this network's log-in page stand between?",
                status=status,
                retry_after=wait,
            )
        if status >= 300:
            raise self._fault(response, wait)

    def _fault(self, response: requests.Response, wait: float) -> Passing | Final:
        status, problem = response.status_code, self._problem(response)
        passing = problem.retry
        if passing is None:
            passing = status in PASSING_STATUSES or status >= 500
        detail = problem.detail or problem.title or f"HTTP {status}"
        if problem.code:
            detail = f"{detail} [{problem.code}]"
        if passing:
            return Passing(detail, status=status, code=problem.code, retry_after=wait)
        return Final(detail, status=status, code=problem.code)

    def _problem(self, response: requests.Response) -> wire.Problem:
        try:
            return wire.Problem.model_validate_json(self._read_small(response))
        except (ValidationError, Passing):
            return wire.Problem()


def _target(response: requests.Response) -> str:
    """Where a redirect leads; nowhere if that is no address."""
    try:
        return urljoin(response.url, response.headers.get("Location", ""))
    except ValueError:
        return ""


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds to wait at least: 0 without the header, never more than a day."""
    value = headers.get("Retry-After", "").strip()
    return float(min(int(value[:9]), wire.ONE_DAY_S)) if value.isdecimal() else 0.0


def retry_after(answer: Answer) -> float:
    """Seconds that a successful answer (204) asks to wait."""
    return _retry_after(answer.headers)


@contextmanager
def _as_passing() -> Iterator[None]:
    try:
        yield
    except (requests.RequestException, HTTPError, HTTPException, OSError) as error:
        raise Passing(f"no proper answer ({_reason(error)})") from None


def _reason(error: BaseException) -> str:
    """The innermost cause in a few words; requests and urllib3 wrap it several times."""
    inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
    if isinstance(inner, BaseException):
        return _reason(inner)
    text = re.sub(r"^\w*Connection\(.*?\): ", "", str(error))
    return f"{type(error).__name__}: {text[:200]}"
