"""``/metrics``: for whoever has the token, and in a form that Prometheus reads."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.coordination.making import make_run

TOKEN = "t0ken-of-the-operator-0123456789-abc"


@pytest.fixture
def token(settings) -> str:
    settings.METRICS_TOKEN = TOKEN
    return TOKEN


def test_without_the_setting_there_is_no_such_address(client, db, settings):
    assert settings.METRICS_TOKEN == ""
    for shown in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}):
        assert client.get("/metrics", headers=shown).status_code == 404


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"]
)
def test_without_the_token_nothing_is_told(client, token, shown):
    answer = client.get("/metrics", headers={"Authorization": shown})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "MODELEN_METRICS_TOKEN" in answer.content.decode()


def test_with_the_token_runs_and_portal_are_told(client, db, token, tmp_path, settings):
    settings.DISK_RESERVE_BYTES = 0
    make_run(tmp_path)
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert "no-store" in answer.headers["Cache-Control"]
    families = {
        family.name: family for family in text_string_to_metric_families(answer.content.decode())
    }
    assert families["modelen_run_bytes"].type == "counter"
    assert families["modelen_portal_coordinators"].type == "gauge"
    assert {sample.labels["run"] for sample in families["modelen_run_round"].samples} == {"tiny"}


def test_openmetrics_is_spoken_to_whoever_asks_for_it(client, db, token):
    asked = "application/openmetrics-text; version=1.0.0"
    shown = {"Authorization": f"bearer {token}", "Accept": asked}
    answer = client.get("/metrics", headers=shown)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")
