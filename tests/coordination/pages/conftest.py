import shutil
import subprocess
from pathlib import Path

import pytest

from tests.modelen_site.processes import REPO


@pytest.fixture
def compiled_turkish(tmp_path: Path, settings) -> None:
    """The committed catalogue, compiled for this test and forgotten after it."""
    folder = tmp_path / "locale" / "tr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    source = REPO / "locale" / "tr" / "LC_MESSAGES" / "django.po"
    shutil.copy(source, folder)
    subprocess.run(["msgfmt", "-o", folder / "django.mo", folder / "django.po"], check=True)
    settings.LOCALE_PATHS = [tmp_path / "locale"]
