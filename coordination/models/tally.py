"""What is counted for people to see. Nothing is decided by it.

Each table is bounded by what it counts for, a round, a worker or a code, so that none has to be
cleared out. Rows come into being with the first count (``coordination.tallies.add``). The database
does not hold them to what they belong to: PostgreSQL would lock that row when they are committed,
which is a deadlock with verbs that lock it first.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from coordination.models.round import Round
from coordination.models.run import Run
from coordination.models.worker import Worker


class RoundTally(models.Model):
    """What a round took. Bytes and expiries are counted as they come; the rest is measured when
    the round is published (``coordination.tallies.measure``) and empty before."""

    round = models.OneToOneField(
        Round,
        models.CASCADE,
        primary_key=True,
        related_name="tally",
        db_constraint=False,
        verbose_name=_("round"),
    )
    bytes_up = models.PositiveBigIntegerField(_("bytes up"), db_default=0)
    bytes_down = models.PositiveBigIntegerField(_("bytes down"), db_default=0)
    expired = models.PositiveIntegerField(
        _("expired"), db_default=0, help_text=_("Leases whose time ran out.")
    )
    tokens = models.PositiveBigIntegerField(
        _("tokens"), null=True, help_text=_("Trained for the results that count.")
    )
    workers = models.PositiveIntegerField(
        _("workers"), null=True, help_text=_("Those who took a task.")
    )
    gpu_workers = models.PositiveIntegerField(
        _("on a GPU"), null=True, help_text=_("Workers by what their results say of the device.")
    )
    cpu_workers = models.PositiveIntegerField(_("on a CPU"), null=True)
    refused = models.PositiveIntegerField(_("refused"), null=True)
    checks_valid = models.PositiveIntegerField(_("found valid"), null=True)
    checks_invalid = models.PositiveIntegerField(_("found invalid"), null=True)
    checks_unverified = models.PositiveIntegerField(_("not verified"), null=True)

    class Meta:
        verbose_name = _("tally of a round")
        verbose_name_plural = _("tallies of rounds")

    def __str__(self) -> str:
        return str(self.round)


class WorkerTraffic(models.Model):
    """Bytes to and from one worker; in an open run, files may be fetched without saying who."""

    worker = models.OneToOneField(
        Worker,
        models.CASCADE,
        primary_key=True,
        related_name="traffic",
        db_constraint=False,
        verbose_name=_("worker"),
    )
    bytes_up = models.PositiveBigIntegerField(_("bytes up"), db_default=0)
    bytes_down = models.PositiveBigIntegerField(_("bytes down"), db_default=0)

    class Meta:
        verbose_name = _("traffic of a worker")
        verbose_name_plural = _("traffic of workers")

    def __str__(self) -> str:
        return str(self.worker)


class RefusalCount(models.Model):
    """How many requests a run refused with one code of the protocol."""

    run = models.ForeignKey(Run, models.CASCADE, db_constraint=False, verbose_name=_("run"))
    code = models.CharField(_("code"), max_length=40)
    count = models.PositiveBigIntegerField(_("count"), db_default=0)

    class Meta:
        ordering = ["run", "-count", "code"]
        verbose_name = _("refusals")
        verbose_name_plural = _("refusals")
        constraints = [
            models.UniqueConstraint(fields=["run", "code"], name="one_count_per_code"),
        ]

    def __str__(self) -> str:
        return f"{self.run} {self.code}"
