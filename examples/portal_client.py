#!/usr/bin/env python3
"""A client of a Modelen portal, to copy: Python 3.11, nothing else needed.

    export MODELEN_PORTAL=https://portal.example.org
    export MODELEN_PORTAL_KEY=mdl_...          # made in the panel

    portal_client.py apply listing.json        # begin an application, and hand it in
    portal_client.py check SLUG                # say what to serve, check, and say what came of it
    portal_client.py heartbeat SLUG            # tell the portal how the run is, again and again

``listing.json`` has the members of an application: name, slug, address, description, base_model,
mode, languages, data_source, data_licence, contact, hardware. The portal's /api/v1/docs says more.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from http.client import HTTPException
from typing import Any

TIMEOUT_S = 20.0
RETRY_S = 30.0
POLL_S = 1.0
MAX_ANSWER_BYTES = 4 * 2**20
SOFTWARE = "portal_client/1"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class PortalError(Exception):
    """The portal refused, or nobody answered (status 0).

    ``code`` is stable and for programs; ``retry_after_s`` says when to come again, if it matters.
    """

    def __init__(self, status: int, problem: dict[str, Any], retry_after_s: float | None) -> None:
        details = [f"{error['field']}: {error['message']}" for error in problem.get("errors", [])]
        super().__init__("; ".join([str(problem.get("detail", "no answer")), *details]))
        self.status = status
        self.code = str(problem.get("code", ""))
        self.retry_after_s = retry_after_s

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 429) or self.status >= 500


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The key goes to the portal and to nobody that the portal points at."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Portal:
    """The portal at ``url``, used with one API key."""

    def __init__(self, url: str, key: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise ValueError("the portal's address begins with https://, or anybody reads the key")
        self._root = url.rstrip("/") + "/api/v1/"
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirects)

    def apply(self, listing: dict[str, Any]) -> dict[str, Any]:
        """Begin an application and hand it in; returns the coordinator."""
        begun = self.send("POST", "coordinators", listing)
        return self.send("POST", f"coordinators/{begun['slug']}/submit")

    def challenge(self, slug: str) -> dict[str, Any]:
        """What proves the address: ``line``, to be served at ``url``."""
        return self.send("GET", f"coordinators/{slug}/verification")

    def check(self, slug: str) -> dict[str, Any]:
        """Have the address checked; returns the attempt once it is finished."""
        attempt = self.send("POST", f"coordinators/{slug}/verification/check")
        while not attempt["finished_at"]:
            time.sleep(POLL_S)
            attempt = self.send("GET", f"coordinators/{slug}/verification/attempts/{attempt['id']}")
        return attempt

    def beat(self, slug: str, beat: dict[str, Any]) -> float:
        """Send one heartbeat; returns in how many seconds the next is due."""
        return float(self.send("PUT", f"coordinators/{slug}/heartbeat", beat)["interval_s"])

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """One request; returns what the answer holds.

        A POST carries an Idempotency-Key and is sent once more when its answer does not come, so
        that it acts once however the network is.

        Raises:
            PortalError: a refusal, or no answer.
        """
        once = str(uuid.uuid4()) if method == "POST" else None
        try:
            return self._send(method, path, body, once)
        except PortalError as error:
            if error.status or not once:
                raise
            return self._send(method, path, body, once)

    def _send(self, method: str, path: str, body: Any, once: str | None) -> Any:
        headers = {"Authorization": f"Bearer {self._key}", "User-Agent": SOFTWARE}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if once:
            headers["Idempotency-Key"] = once
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as response:
                return json.loads(response.read(MAX_ANSWER_BYTES) or b"null")
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (OSError, HTTPException, ValueError) as error:
            raise PortalError(0, {"detail": f"no answer: {error}"}, None) from error


def _refusal(error: urllib.error.HTTPError) -> PortalError:
    wait = error.headers.get("Retry-After", "")
    with error:
        content = error.read(MAX_ANSWER_BYTES)
    try:
        problem = json.loads(content)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or "detail" not in problem:
        problem = {"detail": f"the answer has status {error.code} and is no problem+json"}
    return PortalError(error.code, problem, float(wait) if wait.isdigit() else None)


def read_status(address: str) -> dict[str, Any]:
    """What to tell of the run at a coordinator's address, as its public state has it.

    ``seq`` is the time: it rises over restarts too.

    Raises:
        OSError, ValueError, KeyError: the coordinator does not answer, or answers something else.
    """
    with urllib.request.urlopen(f"{address.rstrip('/')}/durum", timeout=TIMEOUT_S) as response:
        state = json.loads(response.read(MAX_ANSWER_BYTES))
    history = state.get("gecmis") or [{}]
    return {
        "seq": time.time_ns() // 10**6,
        "status": state["durum"],
        "round": state["tur"],
        "rounds": state["tur_sayisi"],
        "workers": state["isci_sayisi"],
        "loss": history[-1].get("kayip"),
        "software": SOFTWARE,
    }


def send_beats(portal: Portal, slug: str, address: str, once: bool) -> int:
    """Send heartbeats until stopped, or one; returns the exit status."""
    while True:
        wait = RETRY_S
        try:
            wait = portal.beat(slug, read_status(address))
            print(f"sent, next in {wait:.0f} s", flush=True)
        except PortalError as error:
            print(error, file=sys.stderr, flush=True)
            if once or not error.is_passing:
                return 1
            wait = error.retry_after_s or RETRY_S
        except (OSError, HTTPException, ValueError, KeyError) as error:
            # Silence is what the portal then hears, and it is the truth.
            print(f"{address} does not tell its state: {error}", file=sys.stderr, flush=True)
            if once:
                return 1
        if once:
            return 0
        time.sleep(wait)


def apply(portal: Portal, arguments: argparse.Namespace) -> int:
    with open(arguments.listing, encoding="utf-8") as file:
        coordinator = portal.apply(json.load(file))
    print(f"{coordinator['slug']} is {coordinator['state']}; now prove its address: check")
    return 0


def check(portal: Portal, arguments: argparse.Namespace) -> int:
    challenge = portal.challenge(arguments.slug)
    print(f"{challenge['url']} has to hold the line\n{challenge['line']}", flush=True)
    attempt = portal.check(arguments.slug)
    print(f"{attempt['code']}: {attempt['sentence']} {attempt['remedy']}")
    return 0 if attempt["code"] == "ok" else 1


def heartbeat(portal: Portal, arguments: argparse.Namespace) -> int:
    address = arguments.address
    if address is None:
        address = portal.send("GET", f"coordinators/{arguments.slug}")["address"]
    return send_beats(portal, arguments.slug, address, arguments.once)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Talk to a Modelen portal.")
    parser.add_argument(
        "--portal", default=os.environ.get("MODELEN_PORTAL"), help="or MODELEN_PORTAL"
    )
    commands = parser.add_subparsers(required=True)
    applying = commands.add_parser("apply", help="begin an application and hand it in")
    applying.add_argument("listing", help="a JSON file")
    applying.set_defaults(run=apply)
    checking = commands.add_parser("check", help="say what to serve, and have it checked")
    checking.add_argument("slug")
    checking.set_defaults(run=check)
    beating = commands.add_parser("heartbeat", help="send heartbeats until stopped")
    beating.add_argument("slug")
    beating.add_argument("--address", help="of the coordinator, if not as the portal knows it")
    beating.add_argument("--once", action="store_true", help="send one and stop")
    beating.set_defaults(run=heartbeat)
    return parser


def main() -> int:
    parser = build_parser()
    arguments = parser.parse_args()
    # Not an option: other people on the computer see a program's arguments.
    key = os.environ.get("MODELEN_PORTAL_KEY")
    if not arguments.portal or not key:
        parser.error("set MODELEN_PORTAL to the portal's address and MODELEN_PORTAL_KEY to a key")
    try:
        return arguments.run(Portal(arguments.portal, key), arguments)
    except (PortalError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
