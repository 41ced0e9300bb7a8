"""Shards: ``shard`` reads and checks them, ``make`` makes them from text."""
