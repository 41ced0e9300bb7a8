from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import User
from portal.heartbeats.beat import MAX_SEQ, Beat
from portal.heartbeats.history import MAX_POINTS
from portal.heartbeats.presence import watch
from portal.heartbeats.receive import receive
from portal.heartbeats.uptime import KEPT_DAYS, forget_old_days, uptime_90
from portal.listings.errors import WrongState
from portal.listings.withdraw import withdraw
from portal.models import Coordinator, LossPoint, Presence, UptimeDay
from tests.portal.making import at

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def beat(seq: int, **fields) -> Beat:
    values: dict[str, Any] = {
        "status": "acik",
        "round": 3,
        "rounds": 10,
        "workers": 2,
        "loss": 2.5,
    } | fields
    return Beat(seq, **values)


def beat_every_minute(coordinator: Coordinator, start: datetime, count: int) -> None:
    for number in range(count):
        with at(start + number * MINUTE):
            receive(coordinator, beat(coordinator.heartbeat_seq + 1))


def test_a_beat_is_noted_and_answered(listed: Coordinator) -> None:
    answer = receive(listed, beat(7, software="modelen/0.1"))
    assert (answer.interval_s, answer.seq) == (60, 7)
    assert (listed.presence, listed.heartbeat_seq, listed.round, listed.workers, listed.loss) == (
        Presence.ONLINE, 7, 3, 2, 2.5,
    )  # fmt: skip
    assert (listed.software, listed.run_status) == ("modelen/0.1", "acik")
    assert listed.heartbeat_at == listed.first_heartbeat_at


def test_the_same_or_an_older_seq_changes_nothing(listed: Coordinator) -> None:
    receive(listed, beat(7))
    before = Coordinator.objects.filter(pk=listed.pk).values().get()
    for seq in (7, 6, 1):
        assert receive(listed, beat(seq, round=9, loss=0.1, status="bitti")).seq == 7
    assert Coordinator.objects.filter(pk=listed.pk).values().get() == before
    assert list(LossPoint.objects.values_list("round", "loss")) == [(3, 2.5)]


def test_a_stale_object_does_not_undo_a_newer_beat(listed: Coordinator) -> None:
    stale = Coordinator.objects.get(pk=listed.pk)
    receive(listed, beat(9, round=5))
    assert receive(stale, beat(8, round=4)).seq == 9
    assert stale.round == 5


def test_an_ended_listing_takes_none(listed: Coordinator, operator: User) -> None:
    withdraw(listed, by=operator)
    with pytest.raises(WrongState, match="withdrawn"):
        receive(listed, beat(1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("seq", bad) for bad in (0, -1, MAX_SEQ + 1, 1.5, True)],
        *[("status", bad) for bad in ("", "open", "ACIK")],
        *[("round", bad) for bad in (0, 10**6 + 2, 2.0)],
        *[("rounds", bad) for bad in (0, 10**6 + 1)],
        *[("workers", bad) for bad in (-1, 10**6 + 1)],
        *[("loss", bad) for bad in (float("nan"), float("inf"), -0.1, 1e5)],
        *[("software", bad) for bad in ("x" * 81, "a\nb", "a\0b")],
    ],
)
def test_out_of_range_names_the_field(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        Beat(**{"seq": 1, "status": "acik", field: value})  # type: ignore[arg-type]
    assert set(refused.value.message_dict) == {field}


def test_unknown_values_may_be_left_out(listed: Coordinator) -> None:
    receive(listed, Beat(1, "hazir"))
    assert (listed.round, listed.loss, listed.presence) == (None, None, Presence.ONLINE)
    assert not LossPoint.objects.exists()


def test_silence_makes_late_then_offline_and_mails_once_each_way(
    listed: Coordinator, mailoutbox, django_capture_on_commit_callbacks
) -> None:
    def look(after: timedelta) -> tuple[str, int]:
        with (
            at(NOON + after),
            django_capture_on_commit_callbacks(execute=True),
        ):
            watch()
        listed.refresh_from_db()
        return listed.presence, len(mailoutbox)

    beat_every_minute(listed, NOON, 1)
    assert look(2 * MINUTE) == ("online", 0)
    assert look(2.1 * MINUTE) == ("late", 0)
    assert look(5 * MINUTE) == ("late", 0)
    assert look(5.1 * MINUTE) == ("offline", 1)
    assert look(60 * MINUTE) == ("offline", 1)
    with django_capture_on_commit_callbacks(execute=True):
        beat_every_minute(listed, NOON + 61 * MINUTE, 3)
    assert look(63 * MINUTE) == ("online", 2)
    assert ["offline" in mail.subject for mail in mailoutbox] == [True, False]


def test_no_mail_to_who_does_not_want_it_nor_about_the_unlisted(
    listed: Coordinator, draft_of_other: Coordinator, operator: User, mailoutbox,
    django_capture_on_commit_callbacks,
) -> None:  # fmt: skip
    operator.mails_presence = False
    operator.save()
    for coordinator in (listed, draft_of_other):
        beat_every_minute(coordinator, NOON, 1)
    with (
        at(NOON + 10 * MINUTE),
        django_capture_on_commit_callbacks(execute=True),
    ):
        watch()
    for coordinator in (listed, draft_of_other):
        coordinator.refresh_from_db()
        assert coordinator.presence == Presence.OFFLINE
    assert mailoutbox == []


def test_uptime_counts_what_beats_vouch_for(listed: Coordinator) -> None:
    assert uptime_90(listed) is None
    beat_every_minute(listed, NOON, 31)
    with at(NOON + 30 * MINUTE):
        assert uptime_90(listed) == 1.0
    with at(NOON + 64 * MINUTE):
        assert uptime_90(listed) == pytest.approx(32 / 64)
    beat_every_minute(listed, NOON + 64 * MINUTE, 1)
    assert UptimeDay.objects.get().online == 32 * MINUTE


def test_a_day_ends_at_midnight(listed: Coordinator) -> None:
    beat_every_minute(listed, datetime(2026, 5, 4, 23, 59, 30, tzinfo=UTC), 3)
    days = {row.day.day: row.online for row in UptimeDay.objects.all()}
    assert days == {4: timedelta(seconds=30), 5: timedelta(seconds=90)}


def test_uptime_looks_back_90_days_and_older_days_go(listed: Coordinator) -> None:
    beat_every_minute(listed, NOON - timedelta(days=200), 10)
    beat_every_minute(listed, NOON, 2)
    with at(NOON + MINUTE):
        assert 0 < (uptime_90(listed) or 0) < 1e-4
        forget_old_days()
    oldest = UptimeDay.objects.earliest("day").day
    assert oldest >= (NOON - timedelta(days=KEPT_DAYS)).date()


def test_the_loss_history_is_bounded_and_spans_the_run(listed: Coordinator) -> None:
    for number in range(1, 3 * MAX_POINTS):
        receive(listed, beat(number, round=number, rounds=10**6, loss=float(number)))
    rounds = list(LossPoint.objects.values_list("round", flat=True))
    assert len(rounds) <= MAX_POINTS
    assert rounds[0] <= 4 and rounds[-1] == 3 * MAX_POINTS - 1
    assert max(b - a for a, b in zip(rounds, rounds[1:], strict=False)) <= 8


def test_a_new_run_at_the_same_address_begins_a_new_curve(listed: Coordinator) -> None:
    for seq, number in enumerate((1, 2, 3, 1, 2), start=1):
        receive(listed, beat(seq, round=number, loss=float(seq)))
    assert list(LossPoint.objects.values_list("round", "loss")) == [(1, 4.0), (2, 5.0)]
