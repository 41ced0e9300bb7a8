"""The coordinator in Django admin: all is to be seen, little to be changed, verbs are actions."""

from coordination.admin import checks, figures, files, rounds, runs, workers

__all__ = ["checks", "figures", "files", "rounds", "runs", "workers"]
