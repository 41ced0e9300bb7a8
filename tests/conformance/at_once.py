"""Many subjects at once, for they mostly wait: each parametrised test then asks for its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pytest

WIDTH = 8

T = TypeVar("T")
Subject = TypeVar("Subject")


@contextmanager
def each_at_once(
    request: pytest.FixtureRequest, name: str, work: Callable[[Subject], T]
) -> Iterator[dict[Subject, Future[T]]]:
    """``work`` done on the parameter ``name`` of every test of the module that is to run.

    All of it before the first test: pytest changes the environment between tests, which is not to
    be read meanwhile. The folder that ``mktemp`` makes the others in is there before the threads
    are: pytest makes it at the first call, without a lock.
    """
    request.getfixturevalue("tmp_path_factory").getbasetemp()
    items = [item for item in request.session.items if item.path == request.path]
    wanted = [item.callspec.params[name] for item in items if _has(item, name)]  # type: ignore[attr-defined]
    with ThreadPoolExecutor(WIDTH) as pool:
        begun = {subject: pool.submit(work, subject) for subject in wanted}
    yield begun


def _has(item: pytest.Item, name: str) -> bool:
    return hasattr(item, "callspec") and name in item.callspec.params
