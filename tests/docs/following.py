"""Doing what a document says: all its ``sh`` blocks, in order, in one shell.

The shell stands in a checkout made of links to this one, so that what the commands write stays
there. It differs from a reader's only in the substitutions and the three functions below.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.docs.documents import REPO, Document
from tests.e2e.site import Site

# What a document says, and what it means here; PORT is the test server's.
SUBSTITUTIONS = (
    ("https://example.org/", "http://127.0.0.1:PORT/"),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:PORT/"),
    ("qwen3-0.6b-lora-r16", "tiny-qwen3-lora-r4"),
    # The tests' own Python is the environment.
    (". .venv/bin/activate\n", ""),
)
# `make` is only asked whether it knows what to do; for curl an HTTP error is an error.
PRELUDE = """\
set -eu -o pipefail
python() { "$DOCS_PYTHON" "$@"; }
python3() { python "$@"; }
make() { command make --dry-run "$@" > /dev/null; }
curl() { command curl --fail-with-body "$@"; }
trap 'status=$?; [ $status = 0 ] || echo "FAILED $DOCS_AT (status $status)"' EXIT
"""
NOT_LINKED = {".git", ".venv", "var", "staticfiles"}
PATIENCE_S = 580.0


@dataclass(frozen=True)
class Outcome:
    status: int
    said: str


def make_checkout(folder: Path) -> Path:
    """Links to everything of this checkout but its state."""
    for path in REPO.iterdir():
        if path.name not in NOT_LINKED:
            (folder / path.name).symlink_to(path)
    return folder


def script(document: Document, port: int) -> str:
    """One bash script of all the document's ``sh`` blocks."""
    parts = [PRELUDE]
    for block in document.blocks:
        if block.language == "sh":
            parts.append(f"DOCS_AT={document.name}:{block.line}\n{_substituted(block.text, port)}")
    return "".join(parts)


def follow(document: Document, site: Site) -> Outcome:
    """Run the document's commands beside ``site``; what went wrong, and where, is told last."""
    environment = site.environment | {
        "DOCS_PYTHON": sys.executable,
        "MODELEN_MODELS_DIR": str(site.folder / "models"),
        "MODELEN_STATE_DIR": str(site.folder / "state"),
        # Threads that wait for each other cost more than the tiny model's arithmetic.
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        ["bash"],
        input=script(document, site.port),
        cwd=site.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        check=False,
        text=True,
    )
    return Outcome(done.returncode, done.stdout)


def _substituted(text: str, port: int) -> str:
    for said, meant in SUBSTITUTIONS:
        text = text.replace(said, meant.replace("PORT", str(port)))
    return text
