"""The runs as a list: a few facts of each, in one query."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from coordination.live.counts import is_active
from coordination.live.status import phase_of
from coordination.models import Round, Run, Worker


@dataclass(frozen=True)
class RunCard:
    run: Run
    phase: str
    round: int
    published: int
    workers: int
    loss: float | None

    @property
    def base_model(self) -> str:
        return self.run.manifest.model_name


def annotated_runs() -> QuerySet[Run]:
    """All runs, those that can be joined first, with what ``cards`` needs."""
    rounds = Round.objects.filter(run=OuterRef("pk")).order_by("-number")
    published = rounds.filter(state=Round.State.PUBLISHED)
    active = Worker.objects.filter(is_active(), run=OuterRef("pk")).order_by().values("run")
    counted = active.annotate(count=Count("pk", distinct=True)).values("count")
    done = published.order_by().values("run").annotate(count=Count("pk")).values("count")
    return Run.objects.annotate(
        round_number=Subquery(rounds.values("number")[:1]),
        round_state=Subquery(rounds.values("state")[:1]),
        last_loss=Subquery(published.values("loss")[:1]),
        worker_count=Subquery(counted),
        published_count=Subquery(done),
        is_open=Q(state=Run.State.OPEN),
    ).order_by(F("is_open").desc(), "-created_at", "-pk")


def cards(runs: Iterable[Any]) -> Iterator[RunCard]:
    """A card for each of (some of) ``annotated_runs()``."""
    for run in runs:
        workers = run.worker_count or 0
        phase = phase_of(run.state, run.round_state, workers)
        published = run.published_count or 0
        yield RunCard(run, phase, run.round_number or 1, published, workers, run.last_loss)
