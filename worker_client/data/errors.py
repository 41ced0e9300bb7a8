"""What can be wrong with training data."""


class DataError(Exception):
    """Text or a shard cannot be used; the message names the remedy."""

    code = "data_refused"
