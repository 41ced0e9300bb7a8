"""Recipe v1: from a snapshot and a shard to a result, in a child process without network.

``messages`` and ``process`` import no torch, so the parent process stays small.
"""
