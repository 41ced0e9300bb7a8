#!/usr/bin/env python3
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "modelen_site.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "Django is not installed here; run `make install`, then use .venv/bin/python"
        ) from error
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
