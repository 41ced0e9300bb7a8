"""What is read out of manual pages, books and package descriptions."""

import gzip
from pathlib import Path
from subprocess import run

import pytest

from benchmarks.scratch.articles import articles
from benchmarks.scratch.descriptions import descriptions
from benchmarks.scratch.markup import sections
from benchmarks.scratch.packages import Packages
from benchmarks.scratch.roff import paragraphs

PAGE = r"""
.\" A comment of the author
.ig
left out
..
.TH GREET 1 "2026" "Tools" "User Commands"
.SH NAME
greet \- say \(lqhello\(rq to people
.SH SYNOPSIS
.nf
.B greet
[name]
.fi
.SH DESCRIPTION
.B greet
says hello to the person named, in
.IR English ,
and waits.
.PP
It was written in K\[u00F6]ln\&.\" not here
.TP
\fB\-q\fR, \fB\-\-quiet\fP
Say \(aqhello\(aq \s-1VERY\s0 quietly\e.
.EX
greet -q
.EE
"""


def test_manual_pages_become_prose():
    assert list(paragraphs(PAGE)) == [
        "greet - say “hello” to people",
        "greet says hello to the person named, in English, and waits.",
        "It was written in Köln.",
        "-q, --quiet Say 'hello' VERY quietly\\.",
    ]


def test_pages_in_mdoc_are_left_out():
    assert list(paragraphs(".Dd May 1\n.Dt A 1\n.Sh NAME\n.Nm a\n")) == []


BOOK = """<?xml version="1.0"?><html><head><title>Not this</title><style>p{}</style></head><body>
<div class="navheader"><table><tr><td><div>Next</div></td></tr></table></div>
<h1>1. The <em>sea</em><a class="headerlink" href="#">¶</a></h1><a id="x"/>
<p>Wide   and
blue.</p><div class="para">With &lt;ships&gt;.<pre>code</pre></div>
<h2>Empty</h2><h2>2.3. The land</h2><ul><li>Green.</li><li>Dry<br/>here.</li></ul>
<footer><p>Imprint</p></footer></body></html>"""


def test_books_become_sections():
    found = [(section.title, section.paragraphs) for section in sections(BOOK)]
    assert found == [
        ("The sea", ["Wide and blue.", "With <ships>."]),
        ("The land", ["Green.", "Dryhere."]),
    ]


LIST = """Package: a
Description-md5: 0
Description-de: ein Werkzeug
 Erster Absatz,
 zwei Zeilen.
 .
 Zweiter.

Package: b
Description-md5: 1
Description-de: noch eins
 Nur einer.
"""


def test_package_descriptions_become_sections():
    found = [(row.title, row.paragraphs) for row in descriptions(LIST.splitlines(True))]
    assert found == [
        ("ein Werkzeug", ["Erster Absatz, zwei Zeilen.", "Zweiter."]),
        ("noch eins", ["Nur einer."]),
    ]


ENGLISH = "This paragraph was never translated by anybody at all."
GERMAN = ["Das ist ein Absatz, der lang genug ist, um zu bleiben.", "Kurz."]


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    """A German page, which says its notice twice, and a link to it."""
    folder = tmp_path / "unpacked/manpages-de/usr/share/man/de/man1"
    folder.mkdir(parents=True)
    parts = [*GERMAN, ENGLISH, GERMAN[0], "Und noch ein zweiter, damit es etwas zu erzählen gibt."]
    page = ".TH A 1\n.SH NAME\n" + "\n.PP\n".join(parts)
    (folder / "a.1.gz").write_bytes(gzip.compress(page.encode()))
    (folder / "b.1.gz").symlink_to("a.1.gz")
    (tmp_path / "lists").mkdir()
    return Packages(tmp_path)


def test_what_is_english_short_or_repeated_is_not_taken(packages):
    (article,) = articles(packages, "de", {hash(ENGLISH)})
    assert (article.title, article.category, article.language) == ("a(1)", "man 1", "de")
    assert article.summary == GERMAN[0]
    assert article.body == "Und noch ein zweiter, damit es etwas zu erzählen gibt."


@pytest.mark.needs("dpkg-deb")
def test_packages_are_unpacked_into_a_relative_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    packages = Packages(Path("var"))
    built, files = tmp_path / "built", tmp_path / "var" / "packages"
    (built / "DEBIAN").mkdir(parents=True)
    files.mkdir(parents=True)
    control = "Package: greeting\nVersion: 1\nArchitecture: all\nMaintainer: A B <a@example.org>\n"
    (built / "DEBIAN" / "control").write_text(control + "Description: says hello\n")
    (built / "hello").write_text("hello")
    run(["dpkg-deb", "--build", built, files / "greeting_1_all.deb"], check=True)
    packages._unpack("greeting")
    assert (packages.folder("greeting") / "hello").read_text() == "hello"
