"""Which signals end a demo or an experiment."""

import subprocess
import sys

import pytest

from tests.modelen_site.processes import REPO

CODE = """
import os, signal
from modelen_site.demo import interrupt
signal.signal(signal.SIGHUP, signal.{before})
interrupt.listen()
try:
    os.kill(os.getpid(), signal.{sent})
    print("goes on")
except KeyboardInterrupt:
    print("ends")
"""


@pytest.mark.parametrize(
    ("before", "sent", "said"),
    [
        ("SIG_DFL", "SIGHUP", "ends"),
        ("SIG_DFL", "SIGTERM", "ends"),
        ("SIG_IGN", "SIGHUP", "goes on"),  # as nohup leaves it
        ("SIG_IGN", "SIGTERM", "ends"),
    ],
)
def test_a_closed_terminal_ends_it_unless_nohup_said_otherwise(before, sent, said):
    command = [sys.executable, "-c", CODE.format(before=before, sent=sent)]
    done = subprocess.run(command, cwd=REPO, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == said
