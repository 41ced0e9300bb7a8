"""The numbers of a demo, one plan for each format it can run on."""

from dataclasses import dataclass


class DemoFailed(Exception):
    """The demo cannot go on; the message says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """A run of ``workers`` volunteers, each with one shard and one task of H steps a round."""

    format: str
    inner_steps: int
    batch_size: int
    seq_len: int
    lr: float
    rounds: int = 3
    workers: int = 2
    slug: str = "demo"
    # On loopback a request costs more than its bytes.
    chunk_bytes: int = 4 * 2**20


PLANS = {
    plan.format: plan
    for plan in (
        # Held-out bits per byte, Turkish (wanted: -10 % or more) and English (+2 % or less), and
        # training seconds a round on two cores without bfloat16:
        #   H 10, bs 2, lr 1e-3   -11.9 %   +0.4 %   42 s
        #   H 8, bs 3, lr 1e-3    -11.7 %   +0.7 %   50 s   the whole took 233 to 260 s of 240
        #   H 8, bs 2, lr 1e-3    -10.4 %   +1.3 %          too near the edge
        #   H 8, bs 2, lr 2e-3    -10.0 %   +3.2 %          English suffers, Turkish gains nothing
        Plan("smollm2-135m-lora-r16", inner_steps=10, batch_size=2, seq_len=128, lr=1e-3),
        # The same story in seconds, for tests: this model has learnt nothing yet.
        Plan("tiny-qwen3-lora-r4", inner_steps=20, batch_size=8, seq_len=64, lr=1e-2),
    )
}
