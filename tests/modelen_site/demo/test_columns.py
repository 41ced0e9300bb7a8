import json
from pathlib import Path

import pytest

from modelen_site.demo import columns
from worker_client.models.errors import FetchFailed
from worker_client.models.progress import silent

FILES = {
    "b.json": json.dumps({"sentences": ["Dün.", "Bugün."]}),
    "a.json": json.dumps({"sentences": ["Yarın."]}),
}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "SHA256", columns.digest(FILES))


def test_digest_covers_names_and_contents_but_not_their_order() -> None:
    turned = dict(reversed(FILES.items()))
    renamed = {"c.json": FILES["b.json"], "a.json": FILES["a.json"]}
    changed = FILES | {"a.json": json.dumps({"sentences": ["Dün."]})}

    assert columns.digest(turned) == columns.digest(FILES)
    assert len({columns.digest(files) for files in (FILES, renamed, changed)}) == 3


@pytest.mark.usefixtures("offline", "known")
def test_kept_columns_need_no_network(tmp_path: Path) -> None:
    (tmp_path / "columns.json").write_text(json.dumps(FILES), "utf-8")

    found = columns.fetch_columns(tmp_path, silent)

    assert list(found.items()) == [("a.json", ["Yarın."]), ("b.json", ["Dün.", "Bugün."])]


@pytest.mark.usefixtures("offline", "known")
@pytest.mark.parametrize("kept", ["", "{", json.dumps(FILES | {"a.json": "other"})])
def test_kept_columns_that_are_damaged_are_fetched_again(tmp_path: Path, kept: str) -> None:
    (tmp_path / "columns.json").write_text(kept, "utf-8")

    with pytest.raises(FetchFailed, match="sadedegel==0.21.2"):
        columns.fetch_columns(tmp_path, silent)
