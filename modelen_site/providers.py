"""Signing in with another site's account: which ones the environment sets up."""

import os
from typing import Any

from django.core.exceptions import ImproperlyConfigured

GITHUB = "https://github.com"


def configured() -> dict[str, dict[str, Any]]:
    """Return allauth's settings of the sites that have an id and a secret.

    Raises:
        ImproperlyConfigured: one of the two is missing.
    """
    gitlab = os.environ.get("MODELEN_GITLAB_URL") or "https://gitlab.com"
    found = {
        "github": _settings(
            "MODELEN_GITHUB",
            os.environ.get("MODELEN_GITHUB_CLIENT_ID", ""),
            os.environ.get("MODELEN_GITHUB_SECRET", ""),
            {},
        ),
        "gitlab": _settings(
            "MODELEN_GITLAB",
            os.environ.get("MODELEN_GITLAB_CLIENT_ID", ""),
            os.environ.get("MODELEN_GITLAB_SECRET", ""),
            {"gitlab_url": gitlab.rstrip("/")},
        ),
    }
    return {name: settings for name, settings in found.items() if settings}


def origins(providers: dict[str, dict[str, Any]]) -> list[str]:
    """Return where their sign-in pages are, for the content security policy."""
    apps = [settings["APPS"][0] for settings in providers.values()]
    return [app["settings"].get("gitlab_url", GITHUB) for app in apps]


def _settings(prefix: str, client: str, secret: str, more: dict[str, str]) -> dict[str, Any]:
    if not client and not secret:
        return {}
    if not (client and secret):
        raise ImproperlyConfigured(f"{prefix}_CLIENT_ID and {prefix}_SECRET go together; set both")
    return {"APPS": [{"client_id": client, "secret": secret, "settings": more}]}
