"""How long a step and a look at the held-out text take on this computer, from a few of them."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from modelen_site.experiments.plan import Plan
from modelen_site.experiments.texts import Texts

STEPS = 8


@dataclass(frozen=True)
class Speed:
    """Seconds of one thread: a step of ``batch_size`` sequences, a measurement of the loss."""

    step: float
    measurement: float

    def seconds(self, steps: int, measurements: int, processes: int) -> float:
        return (steps * self.step + measurements * self.measurement) / processes


def measure_speed(plan: Plan, texts: Texts) -> Speed:
    from modelen_site.experiments.judge import Judge
    from worker_client.contract.formats import load_format
    from worker_client.models.store import ModelStore
    from worker_client.training.device import choose_device
    from worker_client.training.initial import write_initial
    from worker_client.training.messages import Step, Train
    from worker_client.training.task import train_task
    from worker_client.training.trainee import make_trainee

    fmt, times = load_format(plan.format), [time.monotonic()]
    setting = plan.settings[0]
    shard = texts.shards(plan.work(setting).workers, setting.division)[0]

    def on_step(step: Step) -> None:
        times.append(time.monotonic())

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = folder / "snapshot.safetensors"
        write_initial(fmt, 0, first)
        task = Train(
            lease_id="speed", round=1, rounds=1, inner_steps=STEPS, batch_size=plan.batch_size,
            seq_len=plan.seq_len, recipe=plan.recipe, lr=plan.learning_rates[0], seed=0, shard=0,
            mode="cpt", snapshot=str(first), data=str(shard),
            out=str(folder / "result.safetensors"),
        )  # fmt: skip
        train_task(make_trainee(fmt, ModelStore(), choose_device("cpu", threads=1)), task, on_step)
        judge, started = Judge(plan, texts), time.monotonic()
        judge.test(first)
        looked = time.monotonic() - started
    # The first step pays for what is made once.
    return Speed(median(b - a for a, b in zip(times[1:-1], times[2:], strict=True)), looked)
