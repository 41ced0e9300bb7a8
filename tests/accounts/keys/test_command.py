import pytest
from django.core.management import CommandError, call_command

from accounts.keys.authenticate import find_key
from accounts.models import ApiKey, AuditEvent, User
from portal.models import Coordinator
from tests.portal.making import begin_draft

pytestmark = pytest.mark.django_db(transaction=True)
GIVEN = ("--name", "cron", "--scope", "heartbeat:write", "--scope", "profile:read")


def test_the_last_line_is_a_key(
    ada: User, coordinator: Coordinator, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (*GIVEN, "--coordinator", "demo", "--days", "7")
    call_command("create_api_key", "ADA@example.org", *options)
    key = find_key(capsys.readouterr().out.splitlines()[-1])
    assert key is not None
    assert (key.owner, key.coordinator, key.name) == (ada, coordinator, "cron")
    assert key.scopes == ["profile:read", "heartbeat:write"]
    assert (key.expires_at - key.created_at).days in (6, 7)
    assert AuditEvent.objects.filter(verb="create", target=f"key:{key.key_id}").exists()


def test_what_cannot_be_is_refused_with_a_reason(ada: User, bob: User) -> None:
    begin_draft(bob, "theirs")
    for wrong, why in (
        (("nobody@example.org", *GIVEN), "no active account"),
        ((ada.email, *GIVEN, "--coordinator", "theirs"), "no coordinator theirs"),
        ((ada.email, *GIVEN, "--days", "366"), "within a year"),
        ((ada.email, "--name", "x", "--scope", "everything"), "invalid choice"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("create_api_key", *wrong)
    assert not ApiKey.objects.exists()
