"""What an operator has to serve, and copy-paste ways to do it."""

import hmac
import shlex
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from portal.models import Coordinator
from portal.verification.address import parse
from portal.verification.codes import Code

PATH = "/.well-known/modelen-verification.txt"
PREFIX = "modelen-verify=v1"


@dataclass(frozen=True)
class Command:
    """Something to copy: a lazy title and the text itself."""

    title: str | Promise
    text: str


def line(coordinator: Coordinator) -> str:
    """Return the line that proves the address; it binds the coordinator and a secret per address.

    A file copied from another coordinator has another short name, an old one another token.
    """
    return f"{PREFIX} {coordinator.slug} {coordinator.proof_token}"


def url(coordinator: Coordinator) -> str:
    """Return where the line has to be; raises ValidationError for an address against the rules."""
    origin, _path = parse(coordinator.address)
    return f"{origin}{PATH}"


def commands(coordinator: Coordinator) -> list[Command]:
    """Return ways to serve the line and to look at it; raises ValidationError as ``url``."""
    text = line(coordinator)
    return [
        Command(
            _("In the folder that your web server serves:"),
            f"mkdir -p .well-known && echo {shlex.quote(text)} >> {PATH.lstrip('/')}",
        ),
        Command(
            _("Or in nginx, inside the server block:"),
            f'location = {PATH} {{ default_type text/plain; return 200 "{text}\\n"; }}',
        ),
        Command(_("See what we will see:"), f"curl -iL {shlex.quote(url(coordinator))}"),
    ]


def judge(body: bytes, coordinator: Coordinator) -> Code:
    """Say whether a fetched file holds the coordinator's line, in time that tells nothing."""
    expected = line(coordinator).encode()
    ours = expected.rsplit(b" ", 1)[0] + b" "
    lines = [found.strip() for found in body.removeprefix(b"\xef\xbb\xbf").splitlines()]
    if sum(hmac.compare_digest(found, expected) for found in lines):
        return Code.OK
    is_old = any(found.startswith(ours) for found in lines)
    return Code.WRONG_TOKEN if is_old else Code.WRONG_CONTENT
