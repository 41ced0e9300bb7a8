import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from accounts.models import User
from portal.models import Attempt, Coordinator
from portal.verification.challenge import line
from tests.portal.verification.wire import (
    ADDRESS,
    HOST,
    PUBLIC,
    Answer,
    Names,
    Server,
    Wire,
    page,
)

Serve = Callable[..., Server]


@pytest.fixture(autouse=True)
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    wire = Wire()
    wire.install(monkeypatch)
    yield wire
    assert wire.escaped == []


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    names = Names({HOST: [[PUBLIC]]})
    names.install(monkeypatch)
    return names


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """The authority, as the only one that this system trusts."""
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    return authority


def tls(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.fixture
def serve(wire: Wire, names: Names, trusted: trustme.CA) -> Iterator[Serve]:
    """Put a real TLS server behind the public address of HOST, port 443 unless told otherwise."""
    servers: list[Server] = []

    def serve(answer: Answer, context: ssl.SSLContext | None = None, port: int = 443) -> Server:
        server = Server(answer, context or tls(trusted, HOST))
        servers.append(server)
        wire.routes[PUBLIC, port] = server.address
        return server

    yield serve
    for server in servers:
        server.close()


@pytest.fixture
def coordinator(operator: User) -> Coordinator:
    return Coordinator.objects.create(
        operator=operator, name="Demo", slug="demo", address=ADDRESS, proof_token="t" * 43
    )


@pytest.fixture
def serve_line(serve: Serve, coordinator: Coordinator) -> Server:
    """A host that does everything right."""
    return serve(page(f"{line(coordinator)}\n".encode()))


def queued(coordinator: Coordinator, address: str = ADDRESS) -> Attempt:
    """An attempt as the verb leaves it, with an address that no verb may have looked at."""
    return coordinator.attempts.create(
        trigger=Attempt.Trigger.OWNER,
        address=address,
        queued_at=coordinator.created_at,
    )
