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
        #   bs 3, lr 1e-3   -11.6 %   +1.1 %   44 s
        #   bs 2, lr 1e-3   -10.4 %   +1.3 %   30 s   too near the edge
        #   bs 2, lr 2e-3   -10.0 %   +3.2 %   30 s   English suffers, Turkish gains nothing
        Plan("smollm2-135m-lora-r16", inner_steps=8, batch_size=3, seq_len=128, lr=1e-3),
        # The same story in seconds, for tests: this model has learnt nothing yet.
        Plan("tiny-qwen3-lora-r4", inner_steps=20, batch_size=8, seq_len=64, lr=1e-2),
    )
}
