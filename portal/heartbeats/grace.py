"""How long a heartbeat holds, in multiples of the interval that every answer asks for."""

from datetime import timedelta

from django.conf import settings

# One lost beat is nothing; two in a row are worth a word, five are worth a mail.
LATE_AFTER = 2
OFFLINE_AFTER = 5


def interval() -> timedelta:
    return timedelta(seconds=settings.HEARTBEAT_SECONDS)


def late_after() -> timedelta:
    return LATE_AFTER * interval()


def offline_after() -> timedelta:
    return OFFLINE_AFTER * interval()
