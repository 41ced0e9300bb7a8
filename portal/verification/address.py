"""Syntax of a coordinator's address: what an operator may write, before anything is looked up.

Only what was parsed here is ever dialled: URLs are rebuilt from the parts, so that no second parser
can read them differently.
"""

import ipaddress
import re
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

DEFAULT_PORTS = {"https": 443, "http": 80}
# 8443 is what hosts use whose 443 is taken; any port would make a port scanner of the portal.
PORTS = (443, 8443)
# Names that mean something inside a network only (RFC 6761, 6762, 7686, 8375, ICANN's list).
INTERNAL_SUFFIXES = frozenset(
    ("alt", "arpa", "corp", "home", "internal", "intranet", "invalid", "lan", "local")
    + ("localdomain", "localhost", "mail", "onion", "private", "test")
)
MAX_LENGTH = 300
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The last label begins with a letter, so 127.1, 0x7f.1 and 2130706433 are no names.
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*:[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
_ADDRESS = re.compile(r"(?P<scheme>[a-z]+)://(?P<authority>[^/]+)(?P<path>/.*)?", re.I | re.S)
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True)
class Origin:
    """Where to connect; ``host`` is lower-case ASCII, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """Host as URLs and the Host header write it, with the port unless it is the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it names this computer by ``localhost`` or a literal loopback address."""
        literal = _literal(self.host)
        return self.host == "localhost" or (literal is not None and literal.is_loopback)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"


def canonical(address: str) -> str:
    """Return the one spelling of ``address``: lower-case host, no usual port, no last slash.

    Raises:
        ValidationError: see ``parse``.
    """
    origin, path = parse(address)
    return f"{origin}{path}"


def parse(address: str) -> tuple[Origin, str]:
    """Return where ``address`` leads and its path, which is empty or begins with a slash.

    Raises:
        ValidationError: its ``code`` says which rule it breaks, its message the remedy.
    """
    if len(address) > MAX_LENGTH or not address.isascii() or not address.isprintable():
        raise ValidationError(
            _("Write the address in plain ASCII, international names in their xn-- form."), "ascii"
        )
    if "#" in address or "?" in address:
        raise ValidationError(_("Leave out what follows ? or #."), "fragment")
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValidationError(_("Write an address like https://example.org/c/my-run."), "form")
    origin = parse_origin(match["scheme"], match["authority"])
    path = (match["path"] or "").rstrip("/")
    if not _PATH.fullmatch(path):
        raise ValidationError(
            _("The path may have letters, digits and -._~ between single slashes."), "path"
        )
    return origin, path


def parse_origin(scheme: str, authority: str) -> Origin:
    """Return the origin that ``scheme://authority`` names, if the portal may ever connect to it.

    Raises:
        ValidationError: as ``parse``.
    """
    scheme = scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise ValidationError(_("The address begins with https://."), "scheme")
    if "@" in authority:
        raise ValidationError(_("Leave out the user name and password."), "user")
    match = _AUTHORITY.fullmatch(authority.lower())
    if match is None or not match["host"]:
        raise ValidationError(_("Write an address like https://example.org/c/my-run."), "form")
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    origin = Origin(scheme, match["host"].strip("[]"), port)
    if not (settings.MODELEN_TRUST_LOOPBACK and origin.is_loopback and 0 < port < 2**16):
        _demand_public(origin)
    return origin


def _demand_public(origin: Origin) -> None:
    host = origin.host
    if origin.scheme != "https":
        raise ValidationError(_("The address begins with https://."), "scheme")
    if _literal(host) is not None or ":" in host or host.rsplit(".", 1)[-1].isdigit():
        raise ValidationError(_("Write a host name instead of an IP address."), "literal")
    if host.rsplit(".", 1)[-1] in INTERNAL_SUFFIXES or "." not in host:
        raise ValidationError(
            _("This name means something inside your network only; write a public host name."),
            "internal",
        )
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise ValidationError(_("This is no host name; write one like example.org."), "name")
    if origin.port not in PORTS:
        raise ValidationError(_("The port is 443, which may be left out, or 8443."), "port")


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
