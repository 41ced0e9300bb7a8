from tests.e2e.conftest import models

__all__ = ["models"]
