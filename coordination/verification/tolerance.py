"""How far an honest repetition may lie from the result it repeats.

Measured by ``benchmarks/verification.py`` as ‖u_v − u_a‖ / ‖u_a‖ over one task. One thread against
two: 0 with both models. float32 against bfloat16: 0.012 to 0.026 with the tiny one (20 steps, two
rounds), 0.142 with SmolLM2-135M (8 steps of 2 x 64 tokens, round 1). Cheats: half of the steps
0.51 to 1.06, another shard 0.47 to 1.08, twice the length 0.5, noise 1.4, the sign turned 2,
nothing done infinite.
"""

SAME_DTYPE = 0.05
DIFFERENT_DTYPES = 0.2


def tolerance(author_dtype: str, verifier_dtype: str) -> float:
    """The largest relative update distance at which two results of one task agree."""
    return SAME_DTYPE if author_dtype == verifier_dtype else DIFFERENT_DTYPES
