import json
import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from modelen_site import providers

ASK = """
import json, django; django.setup()
from django.conf import settings
from django.urls import reverse
policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
print(json.dumps([reverse("github_login"), policy["form-action"]]))
"""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MODELEN_GITHUB", "MODELEN_GITLAB")):
            monkeypatch.delenv(name)


def test_without_settings_there_is_no_other_site() -> None:
    assert providers.configured() == {}


def test_each_has_an_id_and_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELEN_GITLAB_CLIENT_ID", "id")
    with pytest.raises(ImproperlyConfigured, match="MODELEN_GITLAB_SECRET"):
        providers.configured()
    monkeypatch.setenv("MODELEN_GITLAB_SECRET", "secret")
    monkeypatch.setenv("MODELEN_GITLAB_URL", "https://git.example.org/")
    found = providers.configured()
    assert found.keys() == {"gitlab"}
    assert providers.origins(found) == ["https://git.example.org"]


def test_the_policy_lets_the_form_lead_to_the_other_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, since settings are read once."""
    monkeypatch.setenv("MODELEN_GITHUB_CLIENT_ID", "id")
    monkeypatch.setenv("MODELEN_GITHUB_SECRET", "secret")
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "modelen_site.settings"}
    command = [sys.executable, "-c", ASK]
    asked = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(asked.stdout) == [
        "/accounts/github/login/",
        ["'self'", "https://github.com"],
    ]
