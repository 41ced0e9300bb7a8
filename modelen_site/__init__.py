"""The project's frame: settings, addresses, servers. No domain logic."""

import os

# Merges bring threads of their own, beside which BLAS's mostly wait for each other: LoRA's bias
# over 32 results took four times the processor time. To be set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from modelen_site.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
