"""A small ASGI application behind our server, in a process of its own.

Run as ``python streaming_app.py IDLE_SECONDS BODY_BYTES``; prints its port, then serves:
``GET /stream?N`` answers N bytes piece by piece, ``PUT /`` answers its body's length and sha256.
"""

import hashlib
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from modelen_site.server import Limits, Server

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
PIECE = bytes(64 * 1024)


async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/stream":
        for _ in range(int(scope["query_string"]) // len(PIECE)):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    digest, length = hashlib.sha256(), 0
    message: dict[str, Any] = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        digest.update(message["body"])
        length += len(message["body"])
    await send({"type": "http.response.body", "body": f"{length} {digest.hexdigest()}".encode()})


if __name__ == "__main__":
    Server(
        application,
        host="127.0.0.1",
        port=0,
        limits=Limits(body_bytes=int(sys.argv[2]), idle_s=float(sys.argv[1])),
        on_ready=lambda host, port: print(port, flush=True),
    ).run()
