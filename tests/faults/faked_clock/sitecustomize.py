"""Read by Python at start where this folder is on PYTHONPATH: for processes under libfaketime.

libfaketime 0.9.10 refuses Python's way of sleeping, until an instant of the monotonic clock, when
it leaves that clock alone. Waiting for no file does the same.
"""

import select
import time
from typing import SupportsFloat, SupportsIndex


def sleep(seconds: SupportsFloat | SupportsIndex, /) -> None:
    wanted = float(seconds)
    if wanted < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], wanted)


time.sleep = sleep
