import threading
from datetime import timedelta

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils import timezone

from accounts.create_admin import create_admin
from accounts.keys import format
from accounts.keys.authenticate import find_key
from accounts.keys.create import MAX_LIVE, create_key
from accounts.keys.errors import BeyondReach, NotLive, NotYours, TooManyKeys
from accounts.keys.revoke import revoke_key
from accounts.keys.rotate import rotate_key
from accounts.keys.scopes import Scope
from accounts.models import ApiKey, AuditEvent, User
from accounts.tasks import warn_of_expiry
from portal.models import Coordinator
from tests.accounts.conftest import SignIn
from tests.accounts.people import PASSWORD
from tests.portal.making import at, begin_draft

pytestmark = pytest.mark.django_db(transaction=True)
SCOPES = [Scope.HEARTBEAT_WRITE]


def make(owner: User, days: int = 90, **more) -> tuple[ApiKey, str]:
    values = {"name": "cron", "scopes": SCOPES, "coordinator": None, "days": days} | more
    return create_key(owner, **values)


def verbs() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("verb", flat=True))


def test_a_key_is_found_by_its_secret_which_is_nowhere_kept(ada: User) -> None:
    key, secret = make(ada)
    assert find_key(secret) == key
    row = ApiKey.objects.values().get()
    assert secret not in str(row) and row["key_id"] == secret[4:12]
    assert (row["digest"], row["scopes"]) == (format.digest(secret), ["heartbeat:write"])
    told = AuditEvent.objects.get()
    assert (told.verb, told.target, told.actor) == ("create", f"key:{key.key_id}", ada)
    assert secret not in mail.outbox[0].body and key.key_id in mail.outbox[0].body


def test_no_other_key_is_found(ada: User) -> None:
    _key, secret = make(ada)
    random = secret[4:12] + "x" * 24
    twin = "mdl_" + random + format.checksum(random)
    assert format.well_formed(twin) and find_key(twin) is None
    assert find_key(format.make()) is None
    assert find_key("") is None


def test_junk_costs_no_query(django_assert_num_queries, ada: User) -> None:
    with django_assert_num_queries(0):
        assert find_key("mdl_" + "A" * 38) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "  "),
        ("name", "n" * 81),
        ("scopes", []),
        ("scopes", ["heartbeat:write", "everything"]),
        ("days", 0),
        ("days", 366),
    ],
)
def test_what_is_wrong_is_named(field: str, value, ada: User) -> None:
    with pytest.raises(ValidationError) as refused:
        make(ada, **{field: value})
    assert refused.value.message_dict.keys() == {field}
    assert not ApiKey.objects.exists()


def test_a_key_is_for_ones_own_coordinators(ada: User, bob: User, coordinator: Coordinator) -> None:
    key, _secret = make(ada, coordinator=coordinator)
    assert key.coordinator == coordinator
    with pytest.raises(ValidationError, match="own coordinators"):
        make(bob, coordinator=coordinator)


def test_ten_live_keys_at_most(ada: User, bob: User) -> None:
    keys = [make(ada)[0] for _ in range(MAX_LIVE)]
    with pytest.raises(TooManyKeys):
        make(ada)
    make(bob)
    revoke_key(keys[0], by=ada)
    make(ada)
    with at(timezone.now() + timedelta(days=91)):
        make(ada)


def test_ten_also_when_asked_all_at_once(ada: User) -> None:
    for _ in range(MAX_LIVE - 1):
        make(ada)

    def one_more() -> None:
        try:
            make(ada)
        except TooManyKeys:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=one_more) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ApiKey.objects.count() == MAX_LIVE


def test_a_revoked_key_is_worthless_at_once(ada: User, bob: User) -> None:
    key, secret = make(ada)
    with pytest.raises(NotYours):
        revoke_key(key, by=bob)
    assert find_key(secret)
    revoke_key(key, by=ada)
    assert find_key(secret) is None
    with pytest.raises(NotLive):
        revoke_key(key, by=ada)
    assert verbs() == ["create", "revoke"]
    assert "revoked" in mail.outbox[-1].subject


def test_an_expired_key_and_one_of_an_inactive_owner_are_worthless(ada: User) -> None:
    _key, secret = make(ada)
    with at(timezone.now() + timedelta(days=90, seconds=1)):
        assert find_key(secret) is None
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert find_key(secret) is None


def test_use_is_noted_every_ten_minutes(ada: User) -> None:
    _key, secret = make(ada)
    start = timezone.now()
    noted = []
    for minutes in (0, 5, 9, 11, 12):
        with at(start + timedelta(minutes=minutes)):
            find_key(secret)
        noted.append(ApiKey.objects.get().last_used_at)
    assert noted == [start] * 3 + [start + timedelta(minutes=11)] * 2


def test_both_keys_work_during_the_overlap(ada: User, bob: User, coordinator: Coordinator) -> None:
    old, old_secret = make(ada, coordinator=coordinator)
    with pytest.raises(NotYours):
        rotate_key(old, by=bob)
    new, new_secret = rotate_key(old, by=ada, overlap_hours=2)
    assert find_key(old_secret) and find_key(new_secret) == new
    assert (new.name, new.scopes, new.coordinator) == (old.name, old.scopes, coordinator)
    assert old.replaced_by == new
    assert abs((new.expires_at - timezone.now()) - timedelta(days=90)) < timedelta(minutes=1)
    with at(timezone.now() + timedelta(hours=2, seconds=1)):
        assert find_key(old_secret) is None and find_key(new_secret)
    with pytest.raises(NotLive):
        rotate_key(old, by=ada)
    assert verbs()[-1] == "rotate" and "replaced" in mail.outbox[-1].subject


def test_rotating_without_overlap_ends_the_old_key_and_needs_no_room(ada: User) -> None:
    key, secret = [make(ada) for _ in range(MAX_LIVE)][0]
    with pytest.raises(TooManyKeys, match="0 hours"):
        rotate_key(key, by=ada)
    key.refresh_from_db()
    assert find_key(secret) and not key.replaced_by
    rotate_key(key, by=ada, overlap_hours=0)
    assert find_key(secret) is None


def test_an_overlap_is_a_week_at_most_and_never_prolongs(ada: User) -> None:
    key, _secret = make(ada, days=1)
    for hours in (-1, 169):
        with pytest.raises(ValidationError):
            rotate_key(key, by=ada, overlap_hours=hours)
    ends = key.expires_at
    rotate_key(key, by=ada, overlap_hours=168)
    assert key.expires_at == ends


def test_a_key_gives_no_more_than_it_has(ada: User, coordinator: Coordinator) -> None:
    within, _secret = make(
        ada, scopes=[Scope.KEYS_WRITE, Scope.HEARTBEAT_WRITE], coordinator=coordinator, days=30
    )
    with pytest.raises(BeyondReach, match="coordinators:write"):
        make(ada, scopes=[Scope.COORDINATORS_WRITE], coordinator=coordinator, within=within)
    for other in (None, begin_draft(ada, "other")):
        with pytest.raises(BeyondReach, match="one coordinator"):
            make(ada, coordinator=other, within=within)
    key, _secret = make(ada, coordinator=coordinator, days=365, within=within)
    assert key.expires_at == within.expires_at


def test_a_key_rotates_nothing_beyond_its_reach(ada: User, coordinator: Coordinator) -> None:
    scopes = [Scope.KEYS_WRITE, Scope.HEARTBEAT_WRITE]
    within, _secret = make(ada, scopes=scopes, coordinator=coordinator)
    more, _secret = make(ada, scopes=[Scope.COORDINATORS_WRITE], coordinator=coordinator)
    wider, _secret = make(ada)
    for key in (more, wider):
        with pytest.raises(BeyondReach):
            rotate_key(key, by=ada, within=within)
        key.refresh_from_db()
        assert not key.replaced_by
    same, _secret = make(ada, coordinator=coordinator)
    rotate_key(same, by=ada, within=within)
    rotate_key(within, by=ada, within=within)


def test_warnings_come_once_at_30_and_7_days(ada: User) -> None:
    key, _secret = make(ada, days=90)
    make(ada, days=7)
    revoked, _secret = make(ada, days=90)
    revoke_key(revoked, by=ada)
    replaced, _secret = make(ada, days=31)
    rotate_key(replaced, by=ada)
    ApiKey.objects.filter(replaces=replaced).delete()
    start, told = timezone.now(), []
    for day in (0, 59, 61, 61.1, 80, 84, 84.1, 89, 91):
        mail.outbox.clear()
        with at(start + timedelta(days=day)):
            warn_of_expiry()
        told.append([message.to for message in mail.outbox if key.key_id in message.body])
    assert told == [[], [], [[ada.email]], [], [], [[ada.email]], [], [], []]


def test_a_month_long_key_is_not_warned_of_as_it_is_made(ada: User) -> None:
    make(ada, days=30)
    mail.outbox.clear()
    warn_of_expiry()
    assert mail.outbox == []


def test_staff_revoke_in_the_administration_and_see_no_digest(ada: User, sign_in: SignIn) -> None:
    key, _secret = make(ada)
    client = sign_in(create_admin("admin@example.org", PASSWORD))
    page = client.get(f"/admin/accounts/apikey/{key.pk}/change/")
    assert page.status_code == 200 and key.digest.encode() not in page.content
    form = {"action": "revoke_selected", "_selected_action": [str(key.pk)]}
    client.post("/admin/accounts/apikey/", form)
    key.refresh_from_db()
    assert key.revoked_at
    assert (
        b"revoked or has expired"
        in client.post("/admin/accounts/apikey/", form, follow=True).content
    )


def test_keys_go_with_their_owner(ada: User) -> None:
    _key, secret = make(ada)
    ada.delete()
    assert find_key(secret) is None
