"""The site's own settings in a clean environment: no variable of the person who runs the tests."""

import os
import tempfile

# One folder for all of xdist's processes; tests/conftest.py removes it.
_shared = os.environ.get("MODELEN_VAR") if "PYTEST_XDIST_WORKER" in os.environ else None
for _name in list(os.environ):
    if _name.startswith("MODELEN_") or _name in ("DATABASE_URL", "REDIS_URL", "EMAIL_URL"):
        del os.environ[_name]
os.environ["MODELEN_VAR"] = _shared or tempfile.mkdtemp(prefix="modelen-tests-")

# tests/on_postgres.py's servers. Each of xdist's processes has a Redis database of its own, since
# tests empty theirs; Django gives each a PostgreSQL database.
_postgres, _redis = os.environ.get("TESTS_POSTGRES"), os.environ.get("TESTS_REDIS")
if _postgres and _redis:
    _process = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    os.environ |= {"DATABASE_URL": _postgres, "REDIS_URL": f"{_redis}/{_process}"}
    # Else it would be a public site, with everything by HTTPS.
    os.environ["MODELEN_DEBUG"] = "1"

from modelen_site.settings import *  # noqa: E402, F403

DEBUG = WHITENOISE_AUTOREFRESH = False

# Hashing passwords slowly is right everywhere else.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Most tests of the administration are not about its door; those that are turn this on.
STAFF_NEED_SECOND_FACTOR = False
