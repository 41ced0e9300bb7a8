"""``receipts``: as a table and as JSON, proved by the token in the state folder."""

import json

import pytest

from tests.worker_client.little_coordinator import Handler, LittleCoordinator, problem
from worker_client.cli.exits import Exit
from worker_client.cli.main import main
from worker_client.state.folder import CoordinatorState

RECEIPT = {
    "gorev": "lease-1", "is": "egit", "tur": 3, "parca": 7, "sha256": "ab" * 32, "boyut": 1000,
    "durum": "birlesti", "agirlik": 0.25, "token": 4096, "kayip": 2.5,
    "zaman": "2026-01-02T03:04:05Z",
}  # fmt: skip
REFUSED = RECEIPT | {"gorev": "lease-2", "durum": "ret", "kod": "bozuk_dosya"}


@pytest.fixture
def token(server: LittleCoordinator, tmp_path, monkeypatch) -> str:
    """Of the pseudonym ``ada`` that has worked from this state folder."""
    monkeypatch.setenv("MODELEN_STATE_DIR", str(tmp_path))
    with CoordinatorState(tmp_path, server.url) as state:
        return state.pseudonym("ada").token


def page(*receipts: dict, once: int | None = None):
    body = {"isci": "ada", "makbuz": list(receipts)} | ({} if once is None else {"once": once})

    def send(handler: Handler) -> None:
        handler.json(200, body)

    return send


def test_a_table_for_people(server, token, capsys):
    server.next("GET", "/makbuz", page(RECEIPT, REFUSED))
    assert main(["receipts", server.url, "--name", "ada"]) == Exit.OK
    head, merged, refused = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "received" and len(head) <= 100
    assert "2026-01-02 03:04" in merged and "0.2500 merged" in merged and "4096" in merged
    assert "lease-2" in refused and "refused [bozuk_dosya]" in refused
    assert server.seen[0].headers["Authorization"] == f"Bearer {token}"


def test_one_json_object_per_line_with_all_there_is(server, token, capsys):
    server.next("GET", "/makbuz", page(RECEIPT, once=9), page(REFUSED))
    assert main(["receipts", server.url, "--name", "ada", "--json"]) == Exit.OK
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["sha256"] == "ab" * 32 and first["fate"] == "birlesti"
    assert second["code"] == "bozuk_dosya"
    assert [seen.path for seen in server.seen] == ["/makbuz", "/makbuz?once=9"]


def test_a_coordinator_cannot_lead_in_a_circle(server, token, capsys):
    server.next("GET", "/makbuz", *[page(RECEIPT, once=9)] * 5)
    assert main(["receipts", server.url, "--name", "ada", "--json"]) == Exit.OK
    assert len(server.seen) == 2


def test_words_of_a_coordinator_do_not_drive_the_terminal(server, token, capsys):
    server.next("GET", "/makbuz", page(REFUSED | {"kod": "\x1b[2Jgone"}))
    main(["receipts", server.url, "--name", "ada"])
    assert "\x1b" not in capsys.readouterr().out


def test_a_check_of_another_s_result_is_told_apart(server, token, capsys):
    server.next("GET", "/makbuz", page(RECEIPT | {"is": "dogrula", "durum": "kullanildi"}))
    main(["receipts", server.url, "--name", "ada"])
    assert "used (dogrula)" in capsys.readouterr().out


def test_nothing_delivered_yet(server, token, capsys):
    server.next("GET", "/makbuz", page())
    assert main(["receipts", server.url, "--name", "ada"]) == Exit.OK
    assert "none yet" in capsys.readouterr().out


def test_a_pseudonym_that_is_not_here_is_told_where_to_look(server, token, capsys):
    assert main(["receipts", server.url, "--name", "bob"]) == Exit.FAILED
    assert "--state-dir" in capsys.readouterr().err and server.seen == []


@pytest.mark.parametrize(
    ("status", "code"), [(401, "belirtec_gerekli"), (404, "yok"), (503, "mesgul")]
)
def test_a_refusal_is_told(server, token, capsys, status, code):
    server.next("GET", "/makbuz", problem(status, code, False))
    assert main(["receipts", server.url, "--name", "ada"]) == Exit.FAILED
    assert code in capsys.readouterr().err
