"""How log lines look, and what never stands in one."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from accounts.origin import current_origin

# Portal keys, worker and other bearer tokens, and lease keys as a header or a JSON member.
_SECRETS = re.compile(
    r"(?P<key>mdl_)[0-9A-Za-z]+"
    r"|(?P<worker>mwk_)[\w-]+"
    r"|(?P<bearer>[Bb]earer\s+)[\w.~+/=-]+"
    r"|(?P<lease>anahtar[\"']?\s*[:=]\s*[\"']?)[\w.~+/=-]+",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Return ``text`` with what follows a secret's name replaced."""
    return _SECRETS.sub(lambda match: match.group(match.lastgroup or 0) + "[redacted]", text)


class Redact(logging.Filter):
    """Replaces secrets in the message before any formatter sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), None
        return True


class NameRequest(logging.Filter):
    """Puts the id of the request under way beside the message, so that an answer's X-Request-ID
    finds its lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        origin = current_origin()
        record.request_id = origin.request_id if origin else ""
        record.within = f" [{origin.request_id}]" if origin else ""
        return True


class PlainFormatter(logging.Formatter):
    """One line per record, and its traceback."""

    def formatException(self, ei: Any) -> str:
        return redact(super().formatException(ei))


class JsonFormatter(logging.Formatter):
    """One JSON object per line, its time in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := getattr(record, "request_id", ""):
            line["request_id"] = request_id
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)
