"""The protocol's conformance suite: a black box that speaks to any coordinator, or to any worker.

It imports the contract, numpy and requests, and knows nothing of either side's program. One
check per clause of ``docs/protocol-v1.md``, each with the clause's own words.
"""
