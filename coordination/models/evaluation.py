"""Held-out data, and what it says of a run's snapshots."""

from math import log

from django.db import models
from django.utils.translation import gettext_lazy as _

from coordination.models.files import Snapshot
from coordination.models.result import Result
from coordination.models.run import SHA256_LENGTH, Run


class HeldOut(models.Model):
    """Text of one language that nobody trains on, served to whoever evaluates."""

    run = models.ForeignKey(Run, models.CASCADE, verbose_name=_("run"))
    language = models.CharField(_("language"), max_length=40)
    sha256 = models.CharField(_("SHA-256"), max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField(_("size, in bytes"))
    rows = models.PositiveBigIntegerField(_("rows"))
    tokens = models.PositiveBigIntegerField(_("tokens"), help_text=_("That are predicted."))
    bytes = models.PositiveBigIntegerField(_("bytes"), help_text=_("UTF-8 bytes of these tokens."))

    class Meta:
        ordering = ["run", "language"]
        verbose_name = _("held-out shard")
        verbose_name_plural = _("held-out shards")
        constraints = [
            models.UniqueConstraint(fields=["run", "language"], name="one_held_out_per_language")
        ]

    def __str__(self) -> str:
        return f"{self.run} {self.language}"

    def bits_per_byte(self, loss: float) -> float:
        """``loss`` is in nats per token."""
        return loss * self.tokens / log(2) / self.bytes


class Evaluation(models.Model):
    """A snapshot's loss on held-out text, as a worker measured it."""

    snapshot = models.ForeignKey(Snapshot, models.CASCADE, verbose_name=_("snapshot"))
    held_out = models.ForeignKey(HeldOut, models.CASCADE, verbose_name=_("held-out shard"))
    result = models.OneToOneField(Result, models.CASCADE, verbose_name=_("result"))
    loss = models.FloatField(_("loss"), help_text=_("Nats per token."))

    class Meta:
        ordering = ["snapshot", "held_out"]
        verbose_name = _("evaluation")
        verbose_name_plural = _("evaluations")
        constraints = [
            models.UniqueConstraint(
                fields=["snapshot", "held_out"], name="one_evaluation_per_snapshot_and_language"
            )
        ]

    def __str__(self) -> str:
        return f"{self.snapshot} {self.held_out.language}: {self.loss:.4f}"
