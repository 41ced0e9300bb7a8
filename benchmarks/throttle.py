"""A TCP proxy that lets so many bytes a second through, each way: one volunteer's slow line."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A quarter of a second's worth at 1 MB/s; what waits in the proxy itself stays as small.
PIECES_PER_SECOND = 4


class Throttle:
    """Forwards to ``port`` on loopback at ``bytes_per_s``."""

    def __init__(self, port: int, bytes_per_s: int) -> None:
        self._port, self._piece = port, bytes_per_s // PIECES_PER_SECOND

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._join, "127.0.0.1", 0, limit=self._piece)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(
            "127.0.0.1", self._port, limit=self._piece
        )
        await asyncio.gather(
            self._pump(reader, far_writer), self._pump(far_reader, writer), return_exceptions=True
        )

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        try:
            while data := await reader.read(self._piece):
                due = loop.time() + len(data) / self._piece / PIECES_PER_SECOND
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(due - loop.time())
        finally:
            writer.close()


@contextmanager
def throttled(port: int, bytes_per_s: int) -> Iterator[int]:
    """While entered, the returned port leads to ``port`` slowly."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = asyncio.run_coroutine_threadsafe(Throttle(port, bytes_per_s).serve(), loop)
    try:
        yield listening.result().sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
