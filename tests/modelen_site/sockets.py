"""Live pages' websockets, through the site's own ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from channels.testing import WebsocketCommunicator

from modelen_site.asgi import application

HEADERS = [(b"origin", b"http://localhost"), (b"host", b"localhost")]
PATIENCE_S = 30


@asynccontextmanager
async def watching(path: str) -> AsyncIterator[WebsocketCommunicator]:
    """An accepted socket, closed when the block ends."""
    socket = WebsocketCommunicator(application, path, headers=HEADERS)
    socket.scope["client"] = ["192.0.2.7", 1234]
    connected, _ = await socket.connect()
    assert connected
    yield socket
    await socket.disconnect()


async def close_code(socket: WebsocketCommunicator) -> int:
    """With what the server closes the socket."""
    message = await socket.receive_output(timeout=PATIENCE_S)
    assert message["type"] == "websocket.close"
    return message["code"]
