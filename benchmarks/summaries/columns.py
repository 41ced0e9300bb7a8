"""Turkish newspaper columns with summaries that people made, out of the wheel ``sadedegel`` (MIT).

In each of the 96 columns of its folder ``dataset/annotated`` a sentence carries the round in which
annotators dropped it. A column's summary is the three sentences that stayed longest, in their
order; of those that stayed equally long, the earlier ones.
"""

import json
import tempfile
import zipfile
from pathlib import Path

from modelen_site.demo.columns import LICENCE, SOURCE, WHEEL, digest
from modelen_site.demo.texts import by_digest
from worker_client.data.article import Article
from worker_client.models.errors import SourceRefused
from worker_client.models.progress import Progress, silent
from worker_client.models.pypi import download

__all__ = ["LICENCE", "SOURCE", "fetch_articles"]
FOLDER = "sadedegel/dataset/annotated/"
# Over names and bytes of the 96 files.
SHA256 = "4a60c5eede83b174219710442d7573a317f7006f874f37b093d50910ecbbe69d"
SUMMARY_SENTENCES = 3


def fetch_articles(wheel: Path | None = None, progress: Progress = silent) -> list[Article]:
    """All columns as articles, in an order that has nothing to do with what they say.

    Raises:
        FetchFailed: the wheel cannot be had.
        SourceRefused: it holds other bytes than those known.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = _read(wheel or download(WHEEL, Path(folder), progress))
    if digest(files) != SHA256:
        raise SourceRefused(f"{WHEEL.requirement} holds other annotated columns than are known")
    return [_article(name, json.loads(files[name])["sentences"]) for name in by_digest(files)]


def _read(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(FOLDER)]
        return {name: archive.read(name).decode() for name in names if name.endswith(".json")}


def _article(name: str, sentences: list[dict]) -> Article:
    texts = [sentence["content"].strip() for sentence in sentences]
    longest = sorted(range(len(texts)), key=lambda i: -sentences[i]["deletedInRound"])
    summary = [texts[i] for i in sorted(longest[:SUMMARY_SENTENCES])]
    title = Path(name).stem.rsplit("-", 1)[0].replace("-", " ")
    return Article(title, " ".join(summary), "columns", "\n".join(texts), "tr")
