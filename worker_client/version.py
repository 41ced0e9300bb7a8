"""The worker's version: sent as ``User-Agent`` and recorded as ``surum`` in every result."""

VERSION = "0.1.0"
