"""The committed description: it is the code's, and the code keeps to it whatever is sent."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.utils import timezone
from django.utils.translation import gettext, override
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.keys.create import create_key
from accounts.models import User
from portal.models import Coordinator
from tests.apiv1.calling import Caller, anonymous

COMMITTED = settings.BASE_DIR / "apiv1/openapi.json"
DESCRIBED = json.loads(COMMITTED.read_text("utf-8"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    pytest.param(method, path, id=f"{method.upper()} {path}")
    for path, operations in DESCRIBED["paths"].items()
    for method in operations
]


def test_the_committed_file_is_what_the_code_says(tmp_path: Path) -> None:
    """If it is not: manage.py spectacular --format openapi-json --file apiv1/openapi.json"""
    generated = tmp_path / "openapi.json"
    call_command(
        "spectacular",
        validate=True,
        fail_on_warn=True,
        format="openapi-json",
        file=str(generated),
    )
    assert json.loads(generated.read_text("utf-8")) == DESCRIBED


def test_it_is_served_with_a_tag(db: None) -> None:
    response = anonymous()("GET", "openapi.json")
    assert response.json() == DESCRIBED
    again = anonymous()("GET", "openapi.json", headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304


def test_the_page_tells_all_of_it_without_a_script(db: None) -> None:
    page = anonymous()("GET", "docs").content.decode()
    ids = set(re.findall(r'id="([^"]+)"', page))
    for path, operations in DESCRIBED["paths"].items():
        for method, operation in operations.items():
            assert operation["operationId"] in ids
            assert f"{method.upper()} {path}</code>" in page
    for name, schema in DESCRIBED["components"]["schemas"].items():
        assert f"schema-{name}" in ids
        for member in schema.get("properties", {}):
            assert f"<code>{member}</code>" in page
    assert set(re.findall(r'href="#([^"]+)"', page)) <= ids


def texts(described: Any) -> Iterator[str]:
    """What the description says to people, wherever the page shows it."""
    if isinstance(described, list):
        for inner in described:
            yield from texts(inner)
    if isinstance(described, dict):
        for name, inner in described.items():
            if name in ("summary", "description") and isinstance(inner, str):
                yield from (part for part in inner.split("\n") if part)
            elif name != "headers":
                yield from texts(inner)


@pytest.mark.needs("gettext")
def test_the_page_is_turkish_for_turkish_readers(db: None) -> None:
    found = set(texts(DESCRIBED["paths"]))
    for schema in DESCRIBED["components"]["schemas"].values():
        members = schema.get("properties", {}).values()
        found |= {part for member in members for part in member.get("description", "").split("\n")}
    found = {text for text in found if text and not re.match(r"Needs the scope|\* `", text)}
    assert len(found) > 60
    page = html.unescape(
        anonymous()("GET", "docs", headers={"Accept-Language": "tr"}).content.decode()
    )
    assert [text for text in found if re.search(rf">\s*{re.escape(text)}\s*<", page)] == []
    with override("tr"):
        assert [text for text in found if gettext(text) not in page] == []
        assert [text for text in found if gettext(text) == text] == []


def test_no_docstring_is_told_to_readers() -> None:
    for operations in DESCRIBED["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert "``" not in operation.get("description", "")


def test_names_of_choices_do_not_depend_on_where_they_are_used() -> None:
    schemas = DESCRIBED["components"]["schemas"]
    assert not [name for name in schemas if name.endswith("Enum")]


@pytest.fixture
def one_connection() -> Iterator[None]:
    """As Django's own test client: the test's transaction outlives each request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def places(draft: Coordinator, listed: Coordinator, operator: User) -> dict[str, Any]:
    """What there is, for paths that shall lead somewhere."""
    key, _secret = create_key(operator, "one", ["profile:read"], None, 30)
    attempt = draft.attempts.create(
        trigger="owner", address=draft.address, queued_at=timezone.now(), code="not_found"
    )
    return {"slug": draft.slug, "attempt_id": attempt.pk, "key_id": key.key_id}


@pytest.mark.usefixtures("one_connection")
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_whatever_is_sent_the_answer_is_as_described(
    method: str, path: str, owner: Caller, places: dict[str, Any]
) -> None:
    schema = schemathesis.openapi.from_dict(DESCRIBED)
    schema.app = get_wsgi_application()
    operation = schema[path][method.upper()]

    @hypothesis_settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), leads_somewhere=st.booleans(), known=st.booleans())
    def check(case: schemathesis.Case, leads_somewhere: bool, known: bool) -> None:
        if leads_somewhere:
            found = places | ({"slug": "listed"} if "directory" in path else {})
            case.path_parameters = {
                name: found[name] for name in places if "{" + name + "}" in path
            }
        cache.clear()
        # Each example finds the same state.
        with transaction.atomic():
            response = case.call(headers=owner.headers if known else {})
            transaction.set_rollback(True)
        case.validate_response(response, checks=CHECKS)

    check()
