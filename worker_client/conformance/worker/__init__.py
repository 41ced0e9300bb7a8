"""The other way round: a coordinator that watches a worker, strict at first, then hostile."""
