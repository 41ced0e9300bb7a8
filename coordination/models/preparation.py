"""Raw text that volunteers make the run's shards of."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from coordination.models.run import SHA256_LENGTH, Run
from worker_client.contract.recipe import CLEANINGS


class Preparation(models.Model):
    """How a run's text is made into rows. No row: the run came with its shards, or without data."""

    run = models.OneToOneField(Run, models.CASCADE, verbose_name=_("run"))
    tokenizer_sha256 = models.CharField(_("digest of the tokenizer"), max_length=SHA256_LENGTH)
    tokenizer_size = models.PositiveBigIntegerField(_("size of the tokenizer, in bytes"))
    cleaning = models.CharField(_("rules of cleaning"), max_length=40, default=CLEANINGS[-1])
    languages = models.JSONField(
        _("languages"), default=list, blank=True, help_text=_("Kept; none named: all.")
    )
    prepared_at = models.DateTimeField(_("prepared"), null=True, blank=True)

    class Meta:
        ordering = ["run"]
        verbose_name = _("preparation")
        verbose_name_plural = _("preparations")

    def __str__(self) -> str:
        return str(self.run)


class Chunk(models.Model):
    """Whole lines of the text, one article each. The text is deleted once all are prepared."""

    run = models.ForeignKey(Run, models.CASCADE, verbose_name=_("run"))
    index = models.PositiveIntegerField(_("index"))
    sha256 = models.CharField(
        _("SHA-256"), max_length=SHA256_LENGTH, blank=True, help_text=_("Empty: deleted.")
    )
    size = models.PositiveBigIntegerField(_("size, in bytes"))

    class Meta:
        ordering = ["run", "index"]
        verbose_name = _("chunk of text")
        verbose_name_plural = _("chunks of text")
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="one_chunk_per_index")]

    def __str__(self) -> str:
        return f"{self.run} #{self.index}"
