"""Doctor's checks one by one."""

import time
from email.utils import formatdate

import pytest

from tests.worker_client.little_coordinator import LittleCoordinator, bare
from worker_client.cli.checks import CoordinatorCheck, check_clock, check_disk


@pytest.mark.parametrize(("skew", "ok"), [(0, True), (30, True), (-3600, False), (3600, False)])
def test_a_clock_that_is_wrong_is_noticed(skew, ok):
    check = check_clock(formatdate(time.time() + skew, usegmt=True))
    assert check.ok is ok
    assert ("NTP" in check.remedy) is not ok


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT"])
def test_a_date_that_is_none_is_no_trouble(date):
    assert check_clock(date).ok


def test_free_space_is_looked_at_where_the_folder_will_be(tmp_path):
    assert "free" in check_disk(tmp_path / "not" / "yet").detail


def test_a_log_in_page_is_no_coordinator(server: LittleCoordinator):
    server.next("GET", "/durum", bare(200, b"<html>log in</html>"))
    (check,) = CoordinatorCheck(server.url, False).checks()
    assert not check.ok
    assert "not from a coordinator" in check.detail


@pytest.mark.parametrize(("is_open", "said"), [(True, "little"), (False, "approves each")])
def test_a_closed_run_is_told_before_the_first_start(server, is_open, said):
    server.about_changes = {"acik": is_open}
    check = next(CoordinatorCheck(server.url, False).checks())
    assert check.ok and check.detail.startswith("little") and said in check.detail


def test_a_run_that_needs_a_newer_worker_says_so(server):
    server.about_changes = {"surum_asgari": "99"}
    (check,) = CoordinatorCheck(server.url, False).checks()
    assert "git pull" in check.remedy
