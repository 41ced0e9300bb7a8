"""What can keep a model from being evaluated."""


class LibraryMissing(Exception):
    """A library that only this needs is not installed; the message says how to get it."""
