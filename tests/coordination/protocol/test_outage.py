"""A database that fails is said to be away, not to be our mistake."""

import pytest
from django.db import OperationalError

from coordination.models import Run

pytestmark = pytest.mark.django_db


def test_a_database_that_is_away_is_told_as_passing(run, worker, monkeypatch, caplog):
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("server closed\nthe connection")

    monkeypatch.setattr(Run.objects, "filter", fail)
    answer = worker.ask()
    assert (answer.status_code, answer.json()["kod"]) == (503, "mesgul")
    assert answer.json()["tekrar"] is True and answer.headers["Retry-After"]
    (line,) = [r.getMessage() for r in caplog.records if "database" in r.getMessage()]
    assert line == "the database failed at /c/tiny/gorev: server closed the connection"
