"""Debian packages with text, fetched and unpacked without installing anything."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from worker_client.models.progress import Progress

# What of a package is read, and by whom: see ``benchmarks.scratch.articles``.
PACKAGES = {
    "en": (
        "manpages manpages-dev debian-handbook debian-reference-en developers-reference "
        "debian-faq maint-guide libreoffice-help-en-us"
    ).split(),
    "de": (
        "manpages-de manpages-de-dev debian-handbook debian-reference-de developers-reference-de "
        "debian-faq-de maint-guide-de libreoffice-help-de"
    ).split(),
    "fr": (
        "manpages-fr manpages-fr-dev debian-handbook debian-reference-fr developers-reference-fr "
        "debian-faq-fr maint-guide-fr libreoffice-help-fr"
    ).split(),
    "ja": (
        "manpages-ja manpages-ja-dev debian-handbook debian-reference-ja developers-reference-ja "
        "debian-faq-ja maint-guide-ja libreoffice-help-ja"
    ).split(),
    "tr": "manpages-tr debian-handbook libreoffice-help-tr".split(),
}


class FetchFailed(Exception):
    """apt-get is missing or did not get what it was asked for."""


class Packages:
    """A folder with apt's lists, package files and what is in them."""

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()  # apt-get and dpkg-deb run in a folder of it
        self._lists, self._files = folder / "lists", folder / "packages"
        self._unpacked = folder / "unpacked"

    def fetch(self, progress: Progress) -> None:
        """Get what is not there yet.

        Raises:
            FetchFailed: says what apt-get said.
        """
        (self._lists / "partial").mkdir(parents=True, exist_ok=True)
        self._files.mkdir(exist_ok=True)
        names = sorted({name for found in PACKAGES.values() for name in found})
        if not self.translations("en"):
            self._apt("update")
        for done, name in enumerate(names, 1):
            if not self.folder(name).exists():
                self._apt("download", name)
                self._unpack(name)
            progress("fetch", done, len(names), "package")

    def folder(self, name: str) -> Path:
        """Where a package is unpacked."""
        return self._unpacked / name

    def translations(self, language: str) -> list[Path]:
        """apt's own files of package descriptions."""
        return sorted(self._lists.glob(f"*_i18n_Translation-{language}"))

    def _unpack(self, name: str) -> None:
        (file,) = self._files.glob(f"{name}_*.deb")
        part = self._unpacked / f"{name}.part"
        part.mkdir(parents=True, exist_ok=True)
        _run(["dpkg-deb", "--extract", str(file), str(part)], self._files)
        part.rename(self.folder(name))

    def _apt(self, *words: str) -> None:
        """With lists of its own: no root is needed, and none of the system's are touched."""
        options = {
            "Dir::State::lists": self._lists,
            "Dir::Cache": self._lists / "cache",
            "Acquire::Languages": ",".join(PACKAGES),
            "Acquire::GzipIndexes": "false",
            "APT::Sandbox::User": "",
            "Debug::NoLocking": "true",
        }
        pairs = [part for item in options.items() for part in ("-o", "=".join(map(str, item)))]
        _run(["apt-get", "-q", *pairs, *words], self._files)


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
    except FileNotFoundError:
        raise FetchFailed(f"there is no {command[0]} here; Debian and its like have it") from None
    if done.returncode:
        raise FetchFailed(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
