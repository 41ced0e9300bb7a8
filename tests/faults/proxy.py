"""An HTTP proxy that harms what passes: cuts, delays, duplicates, truncates, loses answers.

On its own, in front of anything that listens on this computer::

    python -m tests.faults.proxy --to 8000 --port 9000 --share 0.3 --seed 1

Each request has a connection of its own to the server, and its answer is read whole before any of
it is passed on: for requests and answers of a few MiB, not for websockets.
"""

import argparse
import asyncio
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

HOST = "127.0.0.1"
LONGEST_DELAY_S = 1.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,12})\r\n", re.I)
_CONNECTION = re.compile(rb"\r\n(?:connection|keep-alive):[^\r]*", re.I)


class Harm(StrEnum):
    CUT = "cut"  # part of the request reaches the server, then both connections are reset
    TRUNCATE = "truncate"  # the answer breaks off
    LOSE = "lose"  # the server has done it, and the client hears nothing
    DELAY = "delay"  # the request comes late
    TWICE = "twice"  # the request reaches the server twice at once; one of the answers goes back
    AGAIN = "again"  # the request comes once more, some time after it was answered


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    raw: bytes


Chooser = Callable[[Request], Harm | None]


def seeded(seed: int, share: float, harms: Sequence[Harm] = tuple(Harm)) -> Chooser:
    """Harm a ``share`` of all requests, each in one of ``harms``."""
    draw = random.Random(seed)
    return lambda request: draw.choice(harms) if draw.random() < share else None


class Proxy:
    """Passes requests on to a port; ``choose`` says which are harmed, ``done`` counts them."""

    def __init__(self, port: int, choose: Chooser, seed: int = 0) -> None:
        self.done: Counter[Harm] = Counter()
        self._port, self._choose, self._draw = port, choose, random.Random(seed)
        self._repeating: set[asyncio.Task[None]] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client's connection, which brings one request."""
        answer = b""
        with suppress(OSError, EOFError, asyncio.LimitOverrunError):
            answer = await self._serve(await _read_request(reader))
        with suppress(OSError):
            await _give(writer, answer)

    async def _serve(self, request: Request) -> bytes:
        """What goes back to the client; nothing if its connection is to be reset."""
        harm = self._choose(request)
        if harm is None:
            return await self._ask(request.raw)
        self.done[harm] += 1
        harmful: dict[Harm, Callable[[Request], Awaitable[bytes]]] = {
            Harm.CUT: self._cut,
            Harm.TRUNCATE: self._truncate,
            Harm.LOSE: self._lose,
            Harm.DELAY: self._delay,
            Harm.TWICE: self._twice,
            Harm.AGAIN: self._again,
        }
        return await harmful[harm](request)

    async def _cut(self, request: Request) -> bytes:
        _, writer = await asyncio.open_connection(HOST, self._port)
        writer.write(request.raw[: self._draw.randrange(len(request.raw))])
        await writer.drain()
        _reset(writer)
        return b""

    async def _truncate(self, request: Request) -> bytes:
        answer = await self._ask(request.raw)
        return answer[: self._draw.randrange(len(answer))] if answer else b""

    async def _lose(self, request: Request) -> bytes:
        await self._ask(request.raw)
        return b""

    async def _delay(self, request: Request) -> bytes:
        await self._some_time()
        return await self._ask(request.raw)

    async def _twice(self, request: Request) -> bytes:
        answers = await asyncio.gather(self._ask(request.raw), self._ask(request.raw))
        return self._draw.choice(answers)

    async def _again(self, request: Request) -> bytes:
        async def repeat() -> None:
            await self._some_time()
            with suppress(OSError):
                await self._ask(request.raw)

        answer = await self._ask(request.raw)
        task = asyncio.create_task(repeat())
        self._repeating.add(task)
        task.add_done_callback(self._repeating.discard)
        return answer

    async def _some_time(self) -> None:
        await asyncio.sleep(self._draw.uniform(0, LONGEST_DELAY_S))

    async def _ask(self, raw: bytes) -> bytes:
        """The server's whole answer, or as much as came before it went away."""
        reader, writer = await asyncio.open_connection(HOST, self._port)
        answer = bytearray()
        try:
            writer.write(raw)
            with suppress(ConnectionError):
                while piece := await reader.read(1 << 20):
                    answer += piece
        finally:
            writer.close()
        return bytes(answer)


async def _read_request(reader: asyncio.StreamReader) -> Request:
    """A request that asks the server to close after it; raises EOFError if it breaks off."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    body = await reader.readexactly(int(length[1])) if length else b""
    method, target, _ = head.split(b" ", 2)
    head = _CONNECTION.sub(b"", head[:-2]) + b"Connection: close\r\n\r\n"
    return Request(method.decode("ascii"), target.decode("ascii"), head + body)


async def _give(writer: asyncio.StreamWriter, answer: bytes) -> None:
    if not answer:
        _reset(writer)
        return
    writer.write(answer)
    await writer.drain()
    writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with RST, as a crash of the machine would."""
    plain = writer.get_extra_info("socket")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def proxying(to: int, choose: Chooser, seed: int = 0) -> Iterator[tuple[int, Proxy]]:
    """Run a proxy in a thread until the block ends; gives its port and itself."""
    proxy = Proxy(to, choose, seed)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(proxy.handle, HOST, 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], proxy
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


async def _serve_forever(options: argparse.Namespace) -> None:
    proxy = Proxy(options.to, seeded(options.seed, options.share, options.harms), options.seed)
    server = await asyncio.start_server(proxy.handle, HOST, options.port)
    print(f"Proxy on http://{HOST}:{server.sockets[0].getsockname()[1]}/", flush=True)
    try:
        await server.serve_forever()
    finally:
        print(", ".join(f"{harm} {count}" for harm, count in proxy.done.most_common()))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Harm a share of the requests that pass")
    parser.add_argument("--to", type=int, required=True, help="port of the server")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--share", type=float, default=0.3, help="of all requests, 0 to 1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--harms", type=Harm, nargs="+", default=list(Harm))
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve_forever(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
