"""Articles out of annotated columns."""

import json
import zipfile

import pytest

from benchmarks.summaries import columns
from benchmarks.summaries.columns import fetch_articles
from modelen_site.demo.columns import digest
from worker_client.models.errors import SourceRefused

NAME = f"{columns.FOLDER}iyi-gunler-123.json"
SENTENCES = [("Bir.", 1), ("İki.", 5), ("Üç.", 3), ("Dört.", 2), ("Beş.", 3), ("Altı.", 5)]


@pytest.fixture
def wheel(tmp_path):
    rows = [
        {"content": text, "deletedInRound": last, "id": n}
        for n, (text, last) in enumerate(SENTENCES)
    ]
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(NAME, json.dumps({"sentences": rows}))
        archive.writestr(f"{columns.FOLDER}__init__.py", "")
    return tmp_path / "a.whl"


def test_a_summary_is_what_stayed_longest_in_its_order(wheel, monkeypatch):
    monkeypatch.setattr(columns, "SHA256", digest(columns._read(wheel)))
    (article,) = fetch_articles(wheel)
    assert article.summary == "İki. Üç. Altı."
    assert article.body.splitlines() == [text for text, _ in SENTENCES]
    assert (article.title, article.language) == ("iyi gunler", "tr")


def test_other_columns_are_refused(wheel):
    with pytest.raises(SourceRefused, match="other annotated columns"):
        fetch_articles(wheel)
