"""Daphne, started from Python, with the limits it does not have of its own.

Daphne 4.2 takes a body of any length before the application runs, puts the whole of it into memory,
and writes responses without waiting for slow readers. Its classes are subclassed here at the
narrowest places so that

- a body too large or of no announced length is refused at its headers, unread;
- a body is read from its spool file as the application asks for it;
- a response waits for the connection to drain;
- a client that stalls, while sending or while reading, is cut off.
"""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import IO, Any

# Daphne first: it installs the asyncio reactor that every other Twisted import then finds.
from daphne.server import Server as DaphneServer  # isort: skip
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketFactory
from twisted.internet import defer, reactor
from twisted.internet.error import CannotListenError
from twisted.logger import globalLogBeginner

from worker_client.contract import PROTOCOL_HEADER, PROTOCOL_VERSION
from worker_client.contract.errors import Refusal
from worker_client.contract.wire import Problem

READ_BYTES = 64 * 1024
# How long a refused client may take to read its answer before the connection is reset. Its body
# is never read: the half-closed connection lets a client that is still sending see the answer.
LINGER_S = 2.0


class CannotListen(Exception):
    """The port is taken or not ours to open; the message names the remedy."""


@dataclass(frozen=True)
class Limits:
    """What one client may cost. Sizes in bytes, times in seconds."""

    body_bytes: int = 256 * 2**20
    # No byte either way for this long, or headers not complete in it.
    idle_s: float = 60.0
    # A body slower than this on the whole, after idle_s of grace, is cut off. 8 KiB/s carries a
    # 4 MiB chunk in nine minutes.
    body_bytes_per_s: int = 8 * 1024


class RequestBody:
    """The application's ``receive``: the spooled body piece by piece, then the disconnect.

    Daphne takes this for the queue it would otherwise fill with the whole body.
    """

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self._more = True
        self._gone = asyncio.Event()

    def put_nowait(self, message: dict[str, Any]) -> None:
        """Note the disconnect, the only one of Daphne's messages that matters here."""
        if message["type"] == "http.disconnect":
            self.close()
            self._gone.set()

    def close(self) -> None:
        self._spool.close()

    async def receive(self) -> dict[str, Any]:
        """Return the next ASGI message; after the body it waits for the disconnect."""
        # Reading never waits, so this is where other connections get their turn.
        await asyncio.sleep(0)
        if self._gone.is_set() or not self._more:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        body = self._spool.read(READ_BYTES)
        self._more = len(body) == READ_BYTES
        return {"type": "http.request", "body": body, "more_body": self._more}


class Drain:
    """Twisted's push producer as something a coroutine can wait for."""

    def __init__(self, draining: bool) -> None:
        self._flowing = asyncio.Event()
        if not draining:
            self._flowing.set()

    def pauseProducing(self) -> None:
        self._flowing.clear()

    def resumeProducing(self) -> None:
        self._flowing.set()

    stopProducing = resumeProducing

    async def wait(self, seconds: float) -> None:
        """Return when the connection takes bytes again or is gone.

        Raises:
            TimeoutError: it took none for ``seconds``.
        """
        # Not wait_for, which in Python 3.11 loses a cancellation that comes as the wait ends.
        async with asyncio.timeout(seconds):
            await self._flowing.wait()


class Request(WebRequest):
    """One request on a connection."""

    application_queue: RequestBody | None

    def __init__(self, channel: Any, queued: object = False) -> None:
        # Twisted would parse a whole form on the event loop; Django does that itself.
        super().__init__(channel, queued, parsePOSTFormSubmission=False)
        self.refused = False
        self.drain: Drain | None = None
        self.deadline = reactor.callLater(self.limits.idle_s, self.cut_off)

    @property
    def limits(self) -> Limits:
        return self.server.limits

    # --- The body on its way in --------------------------------------------------------------

    def gotLength(self, length: int | None) -> None:
        """Take or refuse the body by what its headers announce; None is chunked encoding."""
        if length is None:
            self.refuse(Refusal.LENGTH_REQUIRED, "announce the body's length in Content-Length")
        elif length > self.limits.body_bytes:
            self.refuse(
                Refusal.TOO_LARGE,
                f"the body has {length} bytes; this server takes {self.limits.body_bytes}",
            )
        else:
            super().gotLength(length)
            self.deadline.reset(self.limits.idle_s + length / self.limits.body_bytes_per_s)

    def refuse(self, refusal: Refusal, detail: str) -> None:
        """Answer with a problem, read nothing more, and close."""
        self.refused = True
        self.content = BytesIO()
        # Else Twisted invites the body right after.
        self.requestHeaders.removeHeader(b"Expect")
        self.channel.write(problem_response(refusal, detail))
        self.channel.transport.loseWriteConnection()
        self.channel.transport.pauseProducing()
        self.deadline.reset(LINGER_S)

    def handleContentChunk(self, data: bytes) -> None:
        if not self.refused:
            super().handleContentChunk(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        if not self.refused:
            super().requestReceived(command, path, version)

    def process(self) -> Any:
        self.deadline.cancel()
        return super().process()

    def take_body(self) -> RequestBody:
        """Hand the spooled body over, leaving Daphne an empty one to queue up."""
        spool, self.content = self.content, BytesIO()
        return RequestBody(spool)

    # --- The response on its way out ---------------------------------------------------------

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start" and not self.finished and self.channel:
            self.drain = Drain(self.channel._waitingForTransport)
            self.registerProducer(self.drain, True)
        super().handle_reply(message)

    async def drained(self) -> None:
        """Wait until the client has taken what was written, or cut it off when it takes nothing."""
        if self.drain is None or self.finished:
            return
        try:
            await self.drain.wait(self.limits.idle_s)
        except TimeoutError:
            self.cut_off()

    def finish(self) -> None:
        """End a complete response, without the disconnect that Daphne would tell of it.

        Django takes one for an abort, whose traceback keeps request, response and body in a
        reference cycle: a megabyte per chunk until the collector comes. It cancels its own
        listener when the response is out.
        """
        if self.producer:
            self.unregisterProducer()
        body, self.application_queue = self.application_queue, None
        if body is not None:
            body.close()
        super().finish()

    # --- The end -----------------------------------------------------------------------------

    def cut_off(self) -> None:
        if self.channel is not None:
            self.channel.forceAbortClient()

    def connectionLost(self, reason: Any) -> None:
        if self.deadline.active():
            self.deadline.cancel()
        if self.drain is not None:
            self.drain.resumeProducing()
        super().connectionLost(reason)


def problem_response(refusal: Refusal, detail: str) -> bytes:
    """Return a whole HTTP response, as the protocol words its refusals."""
    problem = Problem(
        title=refusal.title,
        status=refusal.status,
        detail=detail,
        code=refusal.code,
        retry=refusal.retry,
    )
    body = problem.model_dump_json(by_alias=True).encode()
    head = (
        f"HTTP/1.1 {refusal.status} {refusal.title}\r\n"
        "Content-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"{PROTOCOL_HEADER}: {PROTOCOL_VERSION}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


class Factory(HTTPFactory):
    """Makes connections whose requests are ours."""

    def __init__(self, server: "Server") -> None:
        super().__init__(server)
        self.timeOut = server.limits.idle_s

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = Request
        return protocol


class Server(DaphneServer):
    """An ASGI application on one TCP port, until SIGTERM, SIGINT or ``stop``.

    ``on_listening`` is called when the port is open; what it raises, ``run`` raises. ``on_ready``
    is called with host and port once signals are heard: whoever is told earlier may send one that
    Twisted's start swallows.
    """

    def __init__(
        self,
        application: Callable[..., Any],
        host: str,
        port: int,
        limits: Limits,
        on_ready: Callable[[str, int], None],
        behind_proxy: bool = False,
        on_listening: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            application,
            endpoints=[f"tcp:{port}:interface={host}"],
            # Live pages only listen; what they may say is short.
            websocket_max_message_size=4096,
            websocket_max_frame_size=4096,
            proxy_forwarded_address_header="X-Forwarded-For" if behind_proxy else None,
            proxy_forwarded_proto_header="X-Forwarded-Proto" if behind_proxy else None,
            server_name="modelen",
        )
        self.host, self.port, self.limits = host, port, limits
        self.on_ready, self.on_listening = on_ready, on_listening
        self.connections: dict[Any, dict[str, Any]] = {}

    def run(self) -> None:
        """Serve; returns after a clean stop.

        Raises:
            CannotListen: the port could not be opened.
        """
        self.http_factory = Factory(self)
        self.ws_factory = WebSocketFactory(self, server=self.server_name)
        self.ws_factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxMessagePayloadSize=self.websocket_max_message_size,
            maxFramePayloadSize=self.websocket_max_frame_size,
        )
        globalLogBeginner.beginLoggingTo([lambda _: None], redirectStandardIO=False)
        asyncio.set_event_loop(reactor._asyncioEventloop)
        # Twisted's timers go by the wall clock: set back, no stalled client would be cut off and no
        # ended connection forgotten until it got there again.
        reactor.seconds = time.monotonic
        listening = self._listen()
        self._schedule()
        self.on_listening()
        reactor.callWhenRunning(self.on_ready, self.host, listening.getHost().port)
        reactor.run(installSignalHandlers=_in_main_thread())

    def _listen(self) -> Any:
        try:
            return reactor.listenTCP(self.port, self.http_factory, interface=self.host)
        except CannotListenError as error:
            raise CannotListen(
                f"cannot listen on {self.host}:{self.port} ({error.socketError}); "
                "stop what uses it, or choose another port with --port"
            ) from error

    def _schedule(self) -> None:
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self.kill_all_applications)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Start the application for a request and return what Daphne takes for its queue."""
        if scope["type"] != "http":
            return super().create_application(protocol, scope)
        body = protocol.take_body()
        scope.setdefault("asgi", {"version": "3.0"})
        running = self.application(
            scope=scope, receive=body.receive, send=partial(self.handle_reply, protocol)
        )
        self.connections[protocol]["application_instance"] = asyncio.ensure_future(running)
        return body

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        await super().handle_reply(protocol, message)
        if message["type"] == "http.response.body" and message.get("more_body"):
            await protocol.drained()

    def kill_all_applications(self) -> Any:
        """Cancel what still runs; Twisted waits for it, for a while, before it stops."""
        instances = [details.get("application_instance") for details in self.connections.values()]
        running = [instance for instance in instances if instance and not instance.done()]
        for instance in running:
            instance.cancel()
        if not running:
            return None
        ended = defer.Deferred.fromFuture(asyncio.gather(*running, return_exceptions=True))
        ended.addTimeout(self.application_close_timeout, reactor)
        return ended.addErrback(lambda failure: failure.trap(defer.TimeoutError))


def _in_main_thread() -> bool:
    """Whether signals can be caught here at all."""
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGTERM")
