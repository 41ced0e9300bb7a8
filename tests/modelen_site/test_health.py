import pytest
from django.test import Client


def test_alive_needs_no_database(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
def test_ready_asks_the_database(client: Client) -> None:
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_only_read(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405
