"""Signing in by another site, a small GitLab on this computer, through the whole of OAuth 2."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from tests.e2e.site import PATIENCE_S, Site

CLIENT, SECRET, CODE, TOKEN = "client", "shared secret", "one code", "one token"


class GitLab(ThreadingHTTPServer):
    """What a sign-in needs of one: whoever comes is ``person``, and agrees."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.person: dict[str, Any] = {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Pages(BaseHTTPRequestHandler):
    server: GitLab

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(asked.query).items()}
        if asked.path == "/oauth/authorize" and given["client_id"] == CLIENT:
            self.send_response(302)
            back = f"{given['redirect_uri']}?code={CODE}&state={given['state']}"
            self.send_header("Location", back.replace(" ", "%20"))
            self.end_headers()
        elif asked.path == "/api/v4/user" and given["access_token"] == TOKEN:
            self._answer(self.server.person)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        given = {name: values[0] for name, values in parse_qs(body).items()}
        right = (given["client_id"], given["client_secret"], given["code"])
        if right == (CLIENT, SECRET, CODE):
            self._answer({"access_token": TOKEN, "token_type": "bearer"})

    def _answer(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def gitlab() -> Iterator[GitLab]:
    with GitLab() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def site(gitlab: GitLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    variables = {
        "MODELEN_GITLAB_CLIENT_ID": CLIENT,
        "MODELEN_GITLAB_SECRET": SECRET,
        "MODELEN_GITLAB_URL": gitlab.url,
        "DJANGO_SUPERUSER_PASSWORD": "a long enough passphrase",
    }
    with Site(tmp_path_factory.mktemp("site"), None, **variables) as site:
        site.start()
        yield site


class Visitor:
    """A browser without a screen."""

    def __init__(self, site: Site) -> None:
        self.site, self.session = site, requests.Session()

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.site.url + path, timeout=PATIENCE_S)

    def send(self, path: str, **form: str) -> requests.Response:
        """Send a form from the page at ``path``, and follow where that leads."""
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path).text)
        assert found
        data = form | {"csrfmiddlewaretoken": found[1]}
        return self.session.post(self.site.url + path, data, timeout=PATIENCE_S)

    def sign_in_by_gitlab(self) -> requests.Response:
        assert "/accounts/gitlab/login/" in self.get("/accounts/login/").text
        return self.send("/accounts/gitlab/login/")

    @property
    def is_signed_in(self) -> bool:
        return self.get("/accounts/settings/").url == f"{self.site.url}/accounts/settings/"


def test_a_newcomer_confirms_their_address_and_is_in(site: Site, gitlab: GitLab) -> None:
    gitlab.person = {"id": 7, "email": "new@example.org", "name": "New", "username": "new"}
    visitor = Visitor(site)
    told = visitor.sign_in_by_gitlab()
    assert told.url.endswith("/accounts/confirm-email/") and not visitor.is_signed_in
    assert site.server is not None
    lines = site.server.lines
    site.server.wait_until(lambda: "/accounts/confirm-email/" in "".join(lines))
    visitor.send(re.findall(r"/accounts/confirm-email/\S+", "".join(lines))[-1])
    visitor.sign_in_by_gitlab()
    assert visitor.is_signed_in
    assert site.rows("SELECT provider, uid FROM socialaccount_socialaccount") == [("gitlab", "7")]
    assert site.rows("SELECT * FROM socialaccount_socialtoken") == []


def test_another_site_s_word_for_an_address_opens_no_account(site: Site, gitlab: GitLab) -> None:
    """Whoever runs that site, or is careless there, could sign in as anybody here."""
    site.manage("createsuperuser", "--noinput", "--email", "ada@example.org")
    gitlab.person = {"id": 8, "email": "ada@example.org", "name": "Eve", "username": "eve"}
    visitor = Visitor(site)
    visitor.sign_in_by_gitlab()
    assert not visitor.is_signed_in
    assert site.rows("SELECT uid FROM socialaccount_socialaccount WHERE uid = '8'") == []


def test_an_answer_that_nobody_asked_for_is_refused(site: Site) -> None:
    visitor = Visitor(site)
    visitor.get(f"/accounts/gitlab/login/callback/?code={CODE}&state=made-up")
    assert not visitor.is_signed_in
