import io
import json
import logging
import sys

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from accounts.origin import KnowOrigin
from modelen_site.logs import JsonFormatter, NameRequest, PlainFormatter, Redact


def record(message: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord("modelen", logging.INFO, __file__, 1, message, values, None)


@pytest.mark.parametrize(
    ("message", "values"),
    [
        ("key mdl_abcSECRET123", ()),
        ("worker mwk_SECRET_-x", ()),
        ("header Authorization: Bearer SECRET.x-y", ()),
        ('body {"anahtar": "SECRET+/="}', ()),
        ("X-Modelen-Anahtar: SECRET", ()),
        ("headers %s", ({"X-Modelen-Anahtar": "SECRET"},)),
    ],
)
def test_no_secret_reaches_a_log(message: str, values: tuple[object, ...]) -> None:
    line = record(message, *values)
    assert Redact().filter(line)
    assert "SECRET" not in line.getMessage()
    assert "[redacted]" in line.getMessage()


def test_other_lines_stay_as_they_are() -> None:
    line = record("round %d of %s published, 100%% done", 3, "demo")
    Redact().filter(line)
    assert line.getMessage() == "round 3 of demo published, 100% done"


def test_plain_lines_hold_the_exception_without_its_secrets() -> None:
    line = record("failed")
    try:
        raise ValueError("Bearer SECRET mdl_SECRET")
    except ValueError:
        line.exc_info = sys.exc_info()
    text = PlainFormatter("%(message)s").format(line)
    assert "ValueError" in text and "SECRET" not in text


def test_json_lines_hold_the_exception_without_its_secrets() -> None:
    line = record("failed")
    try:
        raise ValueError("Bearer SECRET")
    except ValueError:
        line.exc_info = sys.exc_info()
    parsed = json.loads(JsonFormatter().format(line))
    assert parsed["level"] == "INFO"
    assert parsed["time"].endswith("+00:00")
    assert "ValueError" in parsed["exception"]
    assert "SECRET" not in parsed["exception"]


def test_lines_of_a_request_name_it() -> None:
    """Its answer has the same id."""
    logger, written = logging.getLogger("tests.request"), io.StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(NameRequest())
    logger.addHandler(handler)

    def view(request: HttpRequest) -> HttpResponse:
        for formatter in (PlainFormatter("%(name)s%(within)s: %(message)s"), JsonFormatter()):
            handler.setFormatter(formatter)
            logger.warning("said")
        return HttpResponse()

    answer = KnowOrigin(view)(RequestFactory().get("/"))
    logger.warning("afterwards")
    logger.removeHandler(handler)
    plain, within, after = written.getvalue().splitlines()
    assert plain == f"tests.request [{answer['X-Request-ID']}]: said"
    assert json.loads(within)["request_id"] == answer["X-Request-ID"]
    assert "request_id" not in json.loads(after)
