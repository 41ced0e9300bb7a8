"""What ``manage.py check --deploy`` says about the portal's settings."""

import logging
from typing import Any

from django.conf import settings
from django.core import checks

logger = logging.getLogger(__name__)

_TRUSTED = (
    "MODELEN_TRUST_LOOPBACK is on: addresses of coordinators may be http, literal, on any port and "
    "on this computer, so that applicants can make the portal speak to its own services."
)


@checks.register(checks.Tags.security, deploy=True)
def loopback_is_not_trusted(**kwargs: Any) -> list[checks.Error]:
    """An error while the development setting is on."""
    if not settings.MODELEN_TRUST_LOOPBACK:
        return []
    hint = "It is for development; leave it out of the environment."
    return [checks.Error(_TRUSTED, hint=hint, id="portal.E001")]


def shout() -> None:
    """Put the same into the log of every process that starts with it."""
    if settings.MODELEN_TRUST_LOOPBACK:
        logger.warning("%s NEVER do this on a public site.", _TRUSTED)
