"""What a request for a check refuses, besides the listing's NotAllowed and WrongState."""


class TooOften(Exception):
    """There were too many checks lately; try again in ``retry_after_s`` seconds (at least 1)."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"too many checks lately; try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s
