"""Held-out loss of a base model, with or without an adapter: ``evaluate.Evaluator``."""
