"""Reading settings from environment variables."""

import os
import re
import secrets
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def flag(name: str, default: bool = False) -> bool:
    """Return a yes or no setting.

    Raises:
        ImproperlyConfigured: the value is neither.
    """
    value = os.environ.get(name)
    if value is None:
        return default
    if value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise ImproperlyConfigured(f"{name} is {value!r}; write 1 or 0")


def number(name: str, default: int) -> int:
    """Return a whole number of at least 0.

    Raises:
        ImproperlyConfigured: the value is something else.
    """
    value = os.environ.get(name, str(default))
    if not value.isascii() or not value.isdigit():
        raise ImproperlyConfigured(f"{name} is {value!r}; write a whole number")
    return int(value)


def words(name: str, default: Iterable[str] = ()) -> list[str]:
    """Return a comma-separated list without its empty entries."""
    value = os.environ.get(name)
    if value is None:
        return list(default)
    return [word.strip() for word in value.split(",") if word.strip()]


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Return a comma-separated list of IP networks.

    Raises:
        ImproperlyConfigured: one of them is none.
    """
    try:
        return [ip_network(word) for word in words(name)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}; write networks like 192.0.2.0/24") from error


def contacts(name: str) -> list[str]:
    """Return a comma-separated list of addresses at which people are reached.

    Raises:
        ImproperlyConfigured: one of them is no ``mailto:``, ``https:`` or ``tel:`` address.
    """
    found = words(name)
    for word in found:
        if not re.fullmatch(r"(mailto:|https://|tel:)[!-~]+", word):
            raise ImproperlyConfigured(
                f"{name} has {word!r}; write mailto:security@example.org, https://... or tel:..."
            )
    return found


def token(name: str) -> str:
    """Return a token that programs show, or an empty string without one.

    Raises:
        ImproperlyConfigured: it is short, or not of visible ASCII.
    """
    value = os.environ.get(name, "")
    if value and not re.fullmatch(r"[!-~]{32,}", value):
        raise ImproperlyConfigured(
            f"{name} must be at least 32 random characters without spaces; make one with "
            '`python -c "import secrets; print(secrets.token_urlsafe(32))"`'
        )
    return value


def folder(name: str, default: Path) -> Path:
    """Return an absolute folder path, which need not exist."""
    return Path(os.environ.get(name) or default).expanduser().resolve()


def check_secret(secret: str) -> str:
    """Return ``secret`` if it is worth its name.

    Raises:
        ImproperlyConfigured: it is missing, short or repetitive.
    """
    if len(secret) < 50 or len(set(secret)) < 10 or secret.startswith("django-insecure"):
        raise ImproperlyConfigured(
            "MODELEN_SECRET_KEY must be at least 50 random characters; make one with "
            '`python -c "import secrets; print(secrets.token_urlsafe(50))"` and keep it secret'
        )
    return secret


def kept_secret(path: Path) -> str:
    """Return the secret in ``path``, made at random on the first call, readable by its owner only.

    It stays over restarts because lease keys are recomputed from it. Linking a finished file into
    place lets two processes start at once and agree.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return check_secret(path.read_text().strip())
