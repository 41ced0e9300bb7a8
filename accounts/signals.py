"""Moments that other applications take part in, which this one must not import."""

from django.dispatch import Signal

# Before a user's row goes, inside the transaction: give up or clean what is theirs.
# Arguments: user
account_deleting = Signal()

# What else is kept about a user: receivers return a mapping of section to JSON-ready values.
# Arguments: user
account_exporting = Signal()
