"""How far an honest repetition may lie from the result it repeats.

Measured by ``benchmarks/verification.py`` as ‖u_v − u_a‖ / ‖u_a‖ over one task of each model,
rounds 1 and 2. Cheats lie at 0.47 or more: a task of another shard 0.47 to 0.64, half of the
steps 0.75, an update of twice the length 0.5, noise 1.4, the sign turned 2, nothing done infinite.
"""

SAME_DTYPE = 0.05
DIFFERENT_DTYPES = 0.2


def tolerance(author_dtype: str, verifier_dtype: str) -> float:
    """The largest relative update distance at which two results of one task agree."""
    return SAME_DTYPE if author_dtype == verifier_dtype else DIFFERENT_DTYPES
