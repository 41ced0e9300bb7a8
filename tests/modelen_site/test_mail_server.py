import pytest
from django.core.exceptions import ImproperlyConfigured

from modelen_site.mail_server import MailServer, parse

SMTP = "django.core.mail.backends.smtp.EmailBackend"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("console:", MailServer("django.core.mail.backends.console.EmailBackend")),
        ("dummy:", MailServer("django.core.mail.backends.dummy.EmailBackend")),
        ("smtp://mail.example.org", MailServer(SMTP, "mail.example.org", 25)),
        (
            "smtp+tls://ada%40example.org:p%3Aw%2F@mail.example.org:2587",
            MailServer(SMTP, "mail.example.org", 2587, "ada@example.org", "p:w/", starttls=True),
        ),
        (
            "smtps://u:p@mail.example.org",
            MailServer(SMTP, "mail.example.org", 465, "u", "p", tls=True),
        ),
    ],
)
def test_a_url_says_it_all(url: str, expected: MailServer) -> None:
    assert parse(url) == expected


@pytest.mark.parametrize("url", ["mail.example.org", "smtp:", "pop3://user:hunter2@host"])
def test_nonsense_is_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="console:") as refused:
        parse(url)
    assert "hunter2" not in str(refused.value)
