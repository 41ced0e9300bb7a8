import os
import socket
from pathlib import Path

import pytest

from modelen_site.demo.places import HOST, Places, clear, free_port, set_environment, var_folder
from modelen_site.demo.plan import DemoFailed


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.delenv("MODELEN_MODELS_DIR", raising=False)
    return Places.below(tmp_path / "var")


def test_a_taken_port_names_the_remedy() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(DemoFailed, match=f"port {port} cannot be used.*make demo PORT="):
            free_port(port)


def test_port_0_takes_a_free_one() -> None:
    assert free_port(0) > 0


def test_clearing_leaves_models_cache_and_the_sites_own_state(places: Places) -> None:
    var = places.home.parent
    for path in (places.models, places.cache, places.home / "blobs"):
        path.mkdir(parents=True)
    (var / "db.sqlite3").touch()

    clear(places)

    assert sorted(path.name for path in var.iterdir()) == ["cache", "db.sqlite3", "demo", "models"]
    assert [path.name for path in places.home.iterdir()] == ["logs"]


def test_the_environment_is_the_embedded_default(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ |= {"DATABASE_URL": "postgres://db/site", "REDIS_URL": "redis://cache/0"}
    os.environ |= {"MODELEN_ALLOWED_HOSTS": "modelen.example.org", "MODELEN_DEBUG": "1"}

    set_environment(places)

    assert not {"DATABASE_URL", "REDIS_URL", "MODELEN_ALLOWED_HOSTS"} & set(os.environ)
    assert os.environ["MODELEN_VAR"] == str(places.home)
    assert os.environ["MODELEN_MODELS_DIR"] == str(places.models)


def test_state_lies_below_the_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELEN_VAR", str(tmp_path))

    assert var_folder() == tmp_path.resolve()
