"""Make a run in the state folder that ``MODELEN_VAR`` names: ``python -m tests.e2e.prepare``.

A process of its own, since the tests' Django has another database.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import django
from django.core.management import call_command


def main(slug: str, fields: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "modelen_site.settings"
    django.setup()
    from tests.coordination.making import make_run

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as folder:
        make_run(Path(folder), slug, **json.loads(fields))


if __name__ == "__main__":
    main(*sys.argv[1:])
