"""Losses on held-out text: by snapshot for programs, by language and drawn for people."""

from math import ceil

from django.db.models import Avg, F, Max, OuterRef, Subquery

from coordination.live.chart import lines_chart, look
from coordination.models import Evaluation, HeldOut, Run
from worker_client.contract.wire import FinishedRound, HeldOutLoss

MOST_POINTS = 480


def losses_beside(run: Run, history: list[FinishedRound]) -> list[HeldOutLoss]:
    """Of the snapshots that the rounds of ``history`` began from and made, in their order."""
    first, last = (history[0].round, history[-1].round + 1) if history else (1, 1)
    found = Evaluation.objects.filter(snapshot__run=run, snapshot__number__range=(first, last))
    ordered = found.select_related("snapshot", "held_out")
    return [
        HeldOutLoss(
            number=row.snapshot.number,
            language=row.held_out.language,
            loss=row.loss,
            bits_per_byte=round(row.held_out.bits_per_byte(row.loss), 6),
        )
        for row in ordered.order_by("snapshot__number", "held_out__language")
    ]


def newest_losses(run: Run) -> list[dict]:
    """For each language the newest snapshot that was evaluated, next to the first one."""
    rows = Evaluation.objects.filter(held_out=OuterRef("pk")).order_by("-snapshot__number")
    languages = HeldOut.objects.filter(run=run).annotate(
        number=Subquery(rows.values("snapshot__number")[:1]),
        loss=Subquery(rows.values("loss")[:1]),
        first=Subquery(rows.filter(snapshot__number=1).values("loss")[:1]),
    )
    return [
        {
            "language": row.language,
            "number": row.number,
            "loss": row.loss,
            "bits": _bits(row, row.loss),
            "first_bits": _bits(row, row.first),
            "look": look(index),
        }
        for index, row in enumerate(languages.exclude(number=None).order_by("language"))
    ]


def losses_chart(run: Run) -> dict | None:
    """Bits per byte of each language by snapshot, in the looks that ``newest_losses`` names."""
    evaluations = Evaluation.objects.filter(snapshot__run=run)
    latest = evaluations.aggregate(latest=Max("snapshot__number"))["latest"]
    languages = {row.pk: row for row in HeldOut.objects.filter(run=run)}
    if latest is None:
        return None
    stretch = max(1, ceil(latest * len(languages) / MOST_POINTS))
    stretches = evaluations.order_by().values(
        "held_out", stretch=(F("snapshot__number") - 1) / stretch
    )
    means = stretches.annotate(last=Max("snapshot__number"), mean=Avg("loss"))
    lines: dict[str, list[tuple[int, float]]] = {}
    for pk, last, loss in means.order_by("held_out__language", "last").values_list(
        "held_out", "last", "mean"
    ):
        held_out = languages[pk]
        lines.setdefault(held_out.language, []).append((last, held_out.bits_per_byte(loss)))
    return lines_chart(lines)


def _bits(held_out: HeldOut, loss: float | None) -> float | None:
    return None if loss is None else held_out.bits_per_byte(loss)
