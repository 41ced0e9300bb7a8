"""Run the tests that use the database once more, on PostgreSQL and Redis.

``python -m tests.on_postgres PYTEST_ARGUMENT...`` starts both, empty, for as long as it runs; the
exit status is pytest's. The last line says what ran. Where a server cannot be started, that line
is NOT RUN, which with CI=true is a failure.
"""

import os
import subprocess
import sys

from tests.needs import NOT_RUN, missing
from tests.servers import postgresql, redis

WHERE = "On PostgreSQL and Redis: "


def main(arguments: list[str]) -> int:
    """Run pytest with ``arguments``; return the exit status."""
    lacking = missing(("postgresql", "redis"))
    if lacking:
        print(WHERE + NOT_RUN + lacking)
        return int(os.environ.get("CI") == "true")
    with postgresql() as database, redis() as cache:
        servers = {"TESTS_POSTGRES": database, "TESTS_REDIS": cache}
        command = [sys.executable, "-m", "pytest", *arguments]
        status = subprocess.run(command, env=os.environ | servers).returncode
    print(WHERE + ("passed" if status == 0 else f"FAILED, pytest's exit status is {status}"))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
