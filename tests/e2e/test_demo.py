"""The demo as a command, on the tiny model and without network."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from modelen_site.demo.places import PROJECT

LIMIT_S = 300
FIELDS = {
    *("rounds", "results", "bits_per_byte", "bytes_up", "bytes_down", "wall_s"),
    *("rounds_wall_s", "train_s", "snapshots", "text", "device"),
}


def _start(var: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"MODELEN_VAR": str(var), "PIP_NO_INDEX": "1"}
    command = [sys.executable, "-m", "modelen_site.demo", "--format", "tiny-qwen3-lora-r4"]
    return subprocess.Popen(
        [*command, "--port", "0"],
        cwd=PROJECT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo that has run, and what it printed."""
    var = tmp_path_factory.mktemp("demo")
    demo = _start(var)
    out, err = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 0, out + err
    return var / "demo", out


def test_the_summary_has_the_fields_of_a_whole_run(told: tuple[Path, str]) -> None:
    summary = json.loads((told[0] / "summary.json").read_text("utf-8"))

    assert set(summary) == FIELDS
    assert summary["rounds"] == 3
    assert summary["results"] == {"accepted": 6, "refused": 0, "screened": 0}
    assert len(set(summary["snapshots"])) == 4
    assert 0 < summary["train_s"] < summary["rounds_wall_s"] < summary["wall_s"]
    assert summary["bytes_up"] > 0 and summary["bytes_down"] > 0
    assert summary["text"] == "installed tr catalogues"
    assert summary["device"].startswith("cpu, 1 thread, ")


def test_the_model_has_learnt_and_english_was_scored(told: tuple[Path, str]) -> None:
    scores = json.loads((told[0] / "summary.json").read_text("utf-8"))["bits_per_byte"]

    assert set(scores) == {"tr", "en"}
    assert scores["tr"]["after"] < 0.97 * scores["tr"]["before"]
    assert scores["en"]["after"] != scores["en"]["before"]


def test_it_says_which_text_it_used_and_where_it_serves(told: tuple[Path, str]) -> None:
    assert "training on installed tr catalogues" in told[1]
    assert "serving on http://127.0.0.1:" in told[1]
    assert "Rounds outside training" in told[1]


def test_it_ends_in_the_directory_verified_and_online_by_the_verbs(
    told: tuple[Path, str],
) -> None:
    listing = "SELECT slug, state, proof, presence FROM portal_coordinator"
    verbs = "SELECT verb FROM accounts_auditevent WHERE target = 'coordinator:demo' ORDER BY id"
    with sqlite3.connect(told[0] / "db.sqlite3") as database:
        rows = database.execute(listing).fetchall()
        done = [verb for (verb,) in database.execute(verbs)]

    assert rows == [("demo", "approved", "verified", "online")]
    assert done == ["begin", "submit", "approve", "verify"]
    assert "listed, verified and online: http://127.0.0.1:" in told[1]


def test_mail_is_kept_apart_and_the_password_is_the_owners(told: tuple[Path, str]) -> None:
    assert "is approved" in (told[0] / "logs" / "mail.log").read_text("utf-8")
    assert "Subject:" not in told[1]
    assert (told[0] / "admin.txt").stat().st_mode & 0o777 == 0o600


def test_stopping_it_stops_what_it_started(tmp_path: Path) -> None:
    demo = _start(tmp_path)
    assert demo.stdout is not None
    for line in demo.stdout:
        if "serving on" in line:
            break
    demo.send_signal(signal.SIGINT)
    _, err = demo.communicate(timeout=LIMIT_S)

    # The latter when the signal came while Python was executing generated code, a dataclass's say:
    # it then ends itself by the signal, though the exception was caught.
    assert demo.returncode in (130, -signal.SIGINT)
    assert "Stopped." in err and "Traceback" not in err
    assert (tmp_path / "demo/logs/server.log").read_text().strip().endswith("Stopped.")
