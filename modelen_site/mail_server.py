"""Reading EMAIL_URL: through which server mail leaves."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_SMTP_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
_OTHERS = ("console", "dummy")


@dataclass(frozen=True)
class MailServer:
    """What Django's EMAIL_... settings are to be; a port is 0 where there is none."""

    backend: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


def parse(url: str) -> MailServer:
    """Return what ``console:``, ``dummy:`` or ``smtp+tls://user:password@host:587`` says.

    ``smtp+tls`` encrypts by STARTTLS, ``smtps`` from the first byte, ``smtp`` not at all.

    Raises:
        ImproperlyConfigured: it is none of these, or has no host.
    """
    parts = urlsplit(url)
    if parts.scheme in _OTHERS:
        return MailServer(f"django.core.mail.backends.{parts.scheme}.EmailBackend")
    if parts.scheme not in _SMTP_PORTS or not parts.hostname:
        # Not the value itself, which may hold a password.
        raise ImproperlyConfigured(
            "EMAIL_URL makes no sense; write console:, or smtp+tls://user:password@host:587, or "
            "smtps:// or smtp:// in its place, with special characters of a password as %XX"
        )
    return MailServer(
        "django.core.mail.backends.smtp.EmailBackend",
        host=parts.hostname,
        port=parts.port or _SMTP_PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
    )
