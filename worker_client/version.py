"""The worker's version, as it is told to coordinators."""

VERSION = "0.1.0"
USER_AGENT = f"modelen-worker/{VERSION}"


def is_older(version: str, than: str) -> bool:
    """Whether ``version`` comes before ``than``; parts that are no numbers count as 0."""
    return _parts(version) < _parts(than)


def _parts(version: str) -> list[int]:
    parts = [int(part) if part.isdecimal() else 0 for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts
