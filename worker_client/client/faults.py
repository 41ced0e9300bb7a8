"""How a request can fail: for now (``Passing``) or for good (``Final``)."""


class Fault(Exception):
    """A failed request. ``code`` is the protocol's ``kod`` or empty, ``status`` 0 if no answer."""

    def __init__(self, detail: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(detail)
        self.detail, self.status, self.code = detail, status, code


class Passing(Fault):
    """The same request may succeed later, after at least ``retry_after`` seconds."""

    def __init__(
        self, detail: str, *, status: int = 0, code: str = "", retry_after: float = 0
    ) -> None:
        super().__init__(detail, status=status, code=code)
        self.retry_after = retry_after


class Final(Fault):
    """Repeating the request changes nothing."""


class ProtocolBroken(Final):
    """An answer that protocol v1 does not allow: no verdict on our work, and no reason to trust."""


class BadFile(Fault):
    """A body came otherwise than announced: wrong digest, size, range or encoding.

    Neither passing nor final: a broken proxy may be the cause, so a download tries again, but
    counts.
    """


class Stopped(Exception):
    """The person asked to stop while the worker was waiting."""
