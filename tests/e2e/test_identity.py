"""Who may work: real servers and workers that own their names, wait, are blocked or copied."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.e2e.site import PATIENCE_S, Program, Site
from worker_client.cli.exits import Exit
from worker_client.contract.wire import Registration


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("identity"), models) as site:
        site.make_run("closed", shards=1, rounds=1, open_to_all=False)
        # Short leases, so that workers report often and hear soon that a lease has ended; and
        # tasks so long that no machine is done with one before it hears.
        many = {"shards": 4, "rounds": 1000, "inner_steps": 10_000, "max_leases_per_worker": 4}
        site.make_run("long", **many, lease_seconds=15)
        site.start()
        yield site


def test_a_closed_run_waits_for_its_admin_and_then_works(site: Site) -> None:
    worker = site.worker("closed", "ada")
    worker.wait_until(lambda: any("onay_bekliyor" in wait["reason"] for wait in waits(worker)))
    (registered,) = worker.named("registered")
    assert registered["approved"] is False and worker.named("ready") == []
    stranger = requests.get(f"{site.base('closed')}/adaptor?tur=1", timeout=PATIENCE_S)
    assert (stranger.status_code, stranger.json()["kod"]) == (401, "belirtec_gerekli")
    assert "pending" in site.manage("workers", "closed")
    assert "ada: approved" in site.manage("workers", "closed", "approve", "ada")
    assert worker.wait() == Exit.OK
    (end,) = worker.named("finished")
    assert (end["reason"], end["accepted"]) == ("run_over", 1)
    receipt = json.loads(receipts(site, "closed", "ada"))
    assert (receipt["fate"], receipt["round"]) == ("birlesti", 1)
    assert receipt["sha256"] == worker.named("trained")[0]["sha256"]


def test_a_name_is_its_owners(site: Site) -> None:
    first = site.worker("long", "bob", "--tasks", "1")
    first.wait_for("leased")
    second = site.worker("long", "bob", folder="stranger")
    assert second.wait() == Exit.FAILED
    assert "--name" in second.named("error")[-1]["message"]
    third = site.worker("long", "bob", "--no-register", folder="stranger")
    assert third.wait() == Exit.FAILED
    assert "--no-register" in third.named("error")[-1]["message"]
    first.kill()


def test_a_paused_worker_waits_and_a_blocked_one_stops_with_the_reason(site: Site) -> None:
    worker = site.worker("long", "cem")
    worker.wait_for("step")
    site.manage("workers", "long", "pause", "cem", "--reason", "a question about your results")
    worker.wait_until(lambda: any("a question" in wait["reason"] for wait in waits(worker)))
    assert "no longer wants" in worker.named("abandoned")[-1]["reason"]
    site.manage("workers", "long", "unblock", "cem")
    worker.wait_until(lambda: len(worker.named("leased")) > 1)
    site.manage("workers", "long", "block", "cem", "--reason", "results made of noise")
    assert worker.wait() == Exit.FAILED
    assert "results made of noise" in worker.named("error")[-1]["message"]
    live = "select count(*) from coordination_lease l join coordination_worker w on w.id ="
    live += " l.worker_id where w.name = 'cem' and l.state = 'live'"
    assert site.rows(live) == [(0,)]


def test_a_copied_state_folder_is_noticed(site: Site) -> None:
    first = site.worker("long", "dil")
    first.wait_for("step")
    first.kill()
    shutil.copytree(site.folder / "dil", site.folder / "copy")
    for folder in ("dil", "copy"):  # as if both had delivered and gone on to the next task
        for work in (site.folder / folder).rglob("work.json"):
            work.unlink()
    again = site.worker("long", "dil")
    again.wait_for("leased")
    copy = site.worker("long", "dil", folder="copy")
    assert copy.wait() == Exit.FAILED
    error = copy.named("error")[-1]
    assert error["code"] == "isci_kopya" and "--state-dir" in error["message"]
    assert again.alive
    again.kill()
    copy = site.worker("long", "dil", "--take-over", folder="copy")
    copy.wait_for("leased")
    copy.kill()
    assert "a copy of it seen 1 times" in site.manage("workers", "long")


def test_limits_by_address_believe_our_own_proxy_alone(tmp_path: Path) -> None:
    with Site(tmp_path, MODELEN_BEHIND_PROXY="1", MODELEN_REGISTRATIONS_PER_HOUR="1") as site:
        site.make_run("tiny")
        site.start()
        hops = ["198.51.100.1, 203.0.113.9", "198.51.100.2, 203.0.113.9", "203.0.113.10"]
        answers = [register(site, f"worker-{n}", forwarded) for n, forwarded in enumerate(hops)]
    assert answers == [(201, None), (429, "cok_kayit"), (201, None)]


def register(site: Site, name: str, forwarded: str) -> tuple[int, str | None]:
    """As a proxy passes it on that adds its client's address to what that wrote itself."""
    answer = requests.post(
        f"{site.base('tiny')}/kayit",
        json={"isci": name, "belirtec": Registration.draw_token()},
        headers={"X-Forwarded-For": forwarded},
        timeout=PATIENCE_S,
    )
    return answer.status_code, answer.json().get("kod")


def waits(worker) -> list[dict]:
    return worker.named("waiting")


def receipts(site: Site, slug: str, name: str) -> str:
    state = str(site.folder / name)
    command = ["-m", "worker_client", "receipts", site.base(slug), "--name", name]
    program = Program([*command, "--state-dir", state, "--json"], site.environment)
    assert program.wait() == 0, "".join(program.lines)
    return "".join(program.lines)
