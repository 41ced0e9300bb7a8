"""The site's own settings in a clean environment: no variable of the person who runs the tests."""

import os
import tempfile

for _name in list(os.environ):
    if _name.startswith("MODELEN_") or _name in ("DATABASE_URL", "REDIS_URL"):
        del os.environ[_name]
os.environ["MODELEN_VAR"] = tempfile.mkdtemp(prefix="modelen-tests-")

from modelen_site.settings import *  # noqa: E402, F403

# Hashing passwords slowly is right everywhere else.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
