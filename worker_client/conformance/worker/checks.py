"""The checks of a worker: the registry and the order in which they run."""

from worker_client.conformance.check import Registry

worker = Registry()

from worker_client.conformance.worker import (  # noqa: E402, F401  isort: skip
    strict,
    registering,
    troubled,
    repeating,
    remembering,
    updating,
    hostile,
    stubborn,
)
