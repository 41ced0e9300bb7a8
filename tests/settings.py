"""The site's own settings in a clean environment: no variable of the person who runs the tests."""

import os
import tempfile

# One folder for all of xdist's processes; tests/conftest.py removes it.
_shared = os.environ.get("MODELEN_VAR") if "PYTEST_XDIST_WORKER" in os.environ else None
for _name in list(os.environ):
    if _name.startswith("MODELEN_") or _name in ("DATABASE_URL", "REDIS_URL", "EMAIL_URL"):
        del os.environ[_name]
os.environ["MODELEN_VAR"] = _shared or tempfile.mkdtemp(prefix="modelen-tests-")

from modelen_site.settings import *  # noqa: E402, F403

# Hashing passwords slowly is right everywhere else.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Most tests of the administration are not about its door; those that are turn this on.
STAFF_NEED_SECOND_FACTOR = False
