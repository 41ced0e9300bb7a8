"""The file that describes an experiment, checked before anything is begun."""

import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from worker_client.contract.encodings import CODECS
from worker_client.contract.formats import ScratchFormat, UnknownFormat, load_format
from worker_client.contract.recipe import RECIPES
from worker_client.contract.wire import RAW_ENCODING

CATALOGUES = "catalogues"
Kind = Literal["single", "synchronous", "fedavg", "diloco"]
Division = Literal["equal", "language"]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(_[A-Za-z]+)?$")]
Clients = Annotated[int, Field(ge=1, le=64)]
InnerSteps = Annotated[int, Field(ge=1, le=10_000)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Percent = Annotated[float, Field(ge=0)]
Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=2**53)], ...], Field(min_length=1)]
LearningRates = Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)]


class PlanRefused(Exception):
    """The file cannot be run; the message says what to change."""


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Text(Part):
    """What is trained on and what is held out.

    ``source``: ``catalogues`` (translations that installed packages carry), or a folder, beside
    the file, with a ``LANGUAGE.jsonl``, ``LANGUAGE.txt`` or folder ``LANGUAGE`` for each language.
    ``vocabulary``: tokens of a byte-level BPE made from the training text; none: 256 bytes.
    ``held_out_rows`` of each language are validated on, and as many others tested on.
    """

    source: str
    languages: tuple[Language, ...] = Field(min_length=1)
    vocabulary: int | None = Field(default=None, ge=300, le=2**17)
    held_out_rows: int = Field(default=32, ge=1, le=4096)
    licence: str = ""


class Setting(Part):
    """One way to train: a point of the grid but for learning rate and seed.

    ``up`` and ``down`` are encodings of results and of updates; ``ham``: whole, float32.
    """

    arm: str
    kind: Kind
    clients: int
    inner_steps: int
    up: str = RAW_ENCODING
    down: str = RAW_ENCODING
    division: Division = "equal"
    outer_lr: float = 1.0
    outer_momentum: float = 0.0

    @property
    def is_rounds(self) -> bool:
        """Whether clients train apart and are merged by a coordinator."""
        return self.kind in ("fedavg", "diloco")

    @property
    def encodings(self) -> str:
        return f"{self.up}/{self.down}"


class Arm(Part):
    """Settings of one kind: all combinations of what is listed.

    ``encodings`` are pairs ``up/down``, such as ``int4/int4`` or ``topk/int4``. ``seeds`` and
    ``learning_rates``: instead of the plan's, for an arm that is not worth as many hours.
    """

    name: str = Field(min_length=1, max_length=40)
    kind: Kind
    clients: tuple[Clients, ...] = Field(default=(1,), min_length=1)
    inner_steps: tuple[InnerSteps, ...] = Field(default=(30,), min_length=1)
    encodings: tuple[str, ...] = Field(default=("ham/ham",), min_length=1)
    divisions: tuple[Division, ...] = Field(default=("equal",), min_length=1)
    outer_lr: float = Field(default=1.0, gt=0, le=10)
    outer_momentum: float = Field(default=0.5, ge=0, lt=1)
    seeds: Seeds | None = None
    learning_rates: LearningRates | None = None

    @model_validator(mode="after")
    def _make_sense(self) -> Self:
        for pair in self.encodings:
            up, _, down = pair.partition("/")
            if not {up, down} <= {RAW_ENCODING, *CODECS}:
                raise ValueError(f"encodings {pair!r}: write UP/DOWN of ham, {', '.join(CODECS)}")
        if self.kind == "single" and self.clients != (1,):
            raise ValueError("a single machine is one client")
        return self

    def settings(self) -> list[Setting]:
        if self.kind in ("single", "synchronous"):
            return [
                Setting(arm=self.name, kind=self.kind, clients=clients, inner_steps=1)
                for clients in self.clients
            ]
        momentum = self.outer_momentum if self.kind == "diloco" else 0.0
        return [
            Setting(
                arm=self.name, kind=self.kind, clients=clients, inner_steps=inner_steps,
                up=pair.partition("/")[0], down=pair.partition("/")[2], division=division,
                outer_lr=self.outer_lr if self.kind == "diloco" else 1.0, outer_momentum=momentum,
            )
            for clients, inner_steps, pair, division in product(
                self.clients, self.inner_steps, self.encodings, self.divisions
            )
        ]  # fmt: skip


class Choice(Part):
    """Names one setting: what is left out may be anything as long as only one fits."""

    arm: str
    clients: int | None = None
    inner_steps: int | None = None
    encodings: str | None = None
    division: Division | None = None

    def fits(self, setting: Setting) -> bool:
        wanted = self.model_dump(exclude_none=True)
        return all(getattr(setting, name) == value for name, value in wanted.items())


class Bar(Part):
    """A number to reach: ``of`` compared with ``against``.

    ``at_most_percent``: its loss lies so far above at most. ``at_least_times``: so many times
    fewer bytes, up and down. ``why``: what is known of a miss, printed with it.
    """

    title: str
    of: Choice
    against: Choice
    at_most_percent: Percent | None = None
    at_least_times: Annotated[float, Field(gt=0)] | None = None
    why: str = ""

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        if (self.at_most_percent is None) == (self.at_least_times is None):
            raise ValueError("a bar has either at_most_percent or at_least_times")
        return self


@dataclass(frozen=True)
class Work:
    """``workers`` that each take ``steps`` steps of ``batch_size`` sequences in each of ``rounds``.

    Synchronous data parallel training computes what one worker with the batches of all computes,
    so it is one worker.
    """

    workers: int
    rounds: int
    steps: int
    batch_size: int


class Plan(Part):
    """``tokens`` of an arm are shared by its clients, ``batch_size`` sequences of ``seq_len``
    tokens are a client's step. Each setting chooses among ``learning_rates`` by its validation
    loss with the first seed. ``points``: how often the held-out loss is measured on the way.
    ``step_seconds``: how long a client's step takes, where other computers than this are meant.
    """

    name: Slug
    title: str = Field(min_length=1, max_length=120)
    description: str = Field(default="", max_length=4000)
    format: str
    recipe: str = RECIPES[0]
    seq_len: int = Field(ge=8, le=8192)
    batch_size: int = Field(ge=1, le=1024)
    tokens: int = Field(ge=1)
    seeds: Seeds
    learning_rates: LearningRates
    points: int = Field(default=10, ge=1, le=1000)
    step_seconds: Annotated[float, Field(gt=0)] | None = None
    target_loss: Annotated[float, Field(gt=0)] | None = None
    text: Text
    arms: tuple[Arm, ...] = Field(min_length=1)
    bars: tuple[Bar, ...] = ()

    @model_validator(mode="after")
    def _make_sense(self) -> Self:
        try:
            fmt = load_format(self.format)
        except UnknownFormat as error:
            raise ValueError(str(error)) from None
        if not isinstance(fmt, ScratchFormat):
            raise ValueError(f"{self.format} is an adapter; experiments train whole models")
        if self.recipe not in RECIPES:
            raise ValueError(f"unknown recipe {self.recipe!r}; known: {', '.join(RECIPES)}")
        settings = self.settings
        if len(set(settings)) < len(settings):
            raise ValueError("two arms are the same; give each another name")
        for setting in settings:
            self._demand_even(setting)
        for bar in self.bars:
            self.find(bar.of), self.find(bar.against)
        return self

    def _demand_even(self, setting: Setting) -> None:
        languages, clients = len(self.text.languages), setting.clients
        if setting.division == "language" and clients % languages and languages % clients:
            raise ValueError(
                f"{setting.arm}: {languages} languages do not divide evenly among {clients} clients"
            )

    @property
    def settings(self) -> list[Setting]:
        return [setting for arm in self.arms for setting in arm.settings()]

    def seeds_of(self, setting: Setting) -> tuple[int, ...]:
        return self._arm(setting).seeds or self.seeds

    def rates_of(self, setting: Setting) -> tuple[float, ...]:
        return self._arm(setting).learning_rates or self.learning_rates

    def _arm(self, setting: Setting) -> Arm:
        return next(arm for arm in self.arms if setting in arm.settings())

    @property
    def cells(self) -> int:
        """How many models the whole grid trains."""
        return sum(len(self.rates_of(s)) + len(self.seeds_of(s)) - 1 for s in self.settings)

    @property
    def stages(self) -> list[list[Setting]]:
        """What bars speak of, and then the rest: a grid takes hours."""
        wanted = {self.find(choice) for bar in self.bars for choice in (bar.of, bar.against)}
        stages = [[s for s in self.settings if (s in wanted) is first] for first in (True, False)]
        return [settings for settings in stages if settings]

    def find(self, choice: Choice) -> Setting:
        found = [setting for setting in self.settings if choice.fits(setting)]
        if len(found) != 1:
            wanted = choice.model_dump(exclude_none=True)
            raise ValueError(f"{len(found)} settings fit {wanted}; one must")
        return found[0]

    def work(self, setting: Setting) -> Work:
        """How the tokens are trained: as near to ``tokens`` as whole rounds come."""
        sequences, each = self.tokens // self.seq_len, self.batch_size * setting.clients
        if setting.is_rounds:
            rounds = max(1, round(sequences / (each * setting.inner_steps)))
            return Work(setting.clients, rounds, setting.inner_steps, self.batch_size)
        return Work(1, 1, max(1, sequences // each), each)


def read_plan(path: Path) -> Plan:
    """Raises PlanRefused: names the field and the remedy."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise PlanRefused(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanRefused(f"{path} is no TOML: {error}") from None
    try:
        return Plan.model_validate(raw)
    except ValidationError as error:
        raise PlanRefused(f"{path}: {'; '.join(_sentences(error))}") from None


def _sentences(error: ValidationError) -> list[str]:
    return [_sentence(fault["loc"], fault["msg"]) for fault in error.errors()]


def _sentence(where: tuple[int | str, ...], message: str) -> str:
    return ": ".join([".".join(map(str, where)) or "plan", message.removeprefix("Value error, ")])
