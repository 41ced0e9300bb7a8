"""What a run's snapshots write, for people to read."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from coordination.models.files import Snapshot
from coordination.models.run import Run


class SamplePrompts(models.Model):
    """What snapshots of the run are asked to go on with. No row: samples are not wanted."""

    run = models.OneToOneField(Run, models.CASCADE, verbose_name=_("run"))
    prompts = models.JSONField(_("prompts"), help_text=_("Objects with language and text."))

    class Meta:
        ordering = ["run"]
        verbose_name = _("prompts of samples")
        verbose_name_plural = _("prompts of samples")

    def __str__(self) -> str:
        return f"{self.run}: {len(self.prompts)}"


class Samples(models.Model):
    """How one snapshot went on with the prompts."""

    snapshot = models.OneToOneField(Snapshot, models.CASCADE, verbose_name=_("snapshot"))
    claimed_at = models.DateTimeField(_("claimed"), help_text=_("When work on them began."))
    texts = models.JSONField(
        _("texts"),
        null=True,
        blank=True,
        help_text=_("Objects with language, prompt and text."),
    )
    error = models.CharField(_("error"), max_length=300, blank=True)

    class Meta:
        ordering = ["snapshot"]
        verbose_name = _("samples of a snapshot")
        verbose_name_plural = _("samples of snapshots")

    def __str__(self) -> str:
        return f"{self.snapshot}: {len(self.texts or ())}"
