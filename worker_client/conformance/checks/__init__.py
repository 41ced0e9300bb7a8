"""The checks of a coordinator, in the order in which they run."""

from worker_client.conformance.check import Registry

coordinator = Registry()

# Importing a module registers its checks. Those that need accepted results come late, because a
# round has no more of them than units.
from worker_client.conformance.checks import (  # noqa: E402, F401  isort: skip
    common,
    reading,
    registering,
    receipts,
    closed,
    leasing,
    progress,
    files,
    refusing,
    delivering,
    chunks,
    expiring,
    encodings,
    accepting,
    rounds,
    updates,
    measuring,
    preparing,
    judging,
    repeating,
    merging,
    disputing,
    condemning,
    ending,
    journal,
)
