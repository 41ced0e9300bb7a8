"""How many tokens a result counts for."""

from django.db.models import F, Value
from django.db.models.functions import Coalesce, Least

from coordination.models import Run


def credited_tokens(run: Run, tokens: str) -> Least:
    """What stands in the field ``tokens``, 0 if nothing does. A worker says itself how many it
    trained, so no task counts more than it can have."""
    most = Value(run.batch_size * run.seq_len * run.inner_steps)
    return Least(Coalesce(F(tokens), Value(0)), most)
