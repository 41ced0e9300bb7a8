"""What of a run lies in the blob store: data, weights, and the outer optimiser's state."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from coordination.models.run import SHA256_LENGTH, Run


class DataShard(models.Model):
    """One of the run's equal data files, served at ``/veri?parca=K``."""

    run = models.ForeignKey(Run, models.CASCADE, verbose_name=_("run"))
    index = models.PositiveIntegerField(_("index"))
    sha256 = models.CharField(_("SHA-256"), max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField(_("size, in bytes"))
    rows = models.PositiveBigIntegerField(_("rows"))

    class Meta:
        ordering = ["run", "index"]
        verbose_name = _("data shard")
        verbose_name_plural = _("data shards")
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="one_shard_per_index")]

    def __str__(self) -> str:
        return f"{self.run} #{self.index}"


class Snapshot(models.Model):
    """The weights that round ``number`` starts from."""

    run = models.ForeignKey(Run, models.CASCADE, verbose_name=_("run"))
    number = models.PositiveIntegerField(_("number"))
    sha256 = models.CharField(_("SHA-256"), max_length=SHA256_LENGTH)
    size = models.PositiveBigIntegerField(_("size, in bytes"))
    data_start = models.PositiveIntegerField(
        _("start of the weights"), help_text=_("Where the raw weights begin in the file, in bytes.")
    )
    delta_sha256 = models.CharField(
        _("digest of the update"),
        max_length=SHA256_LENGTH,
        blank=True,
        help_text=_("The compressed update that leads here from the one before."),
    )
    delta_size = models.PositiveBigIntegerField(_("size of the update, in bytes"), default=0)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    deleted_at = models.DateTimeField(_("deleted"), null=True, blank=True)

    class Meta:
        ordering = ["run", "number"]
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_snapshot_per_number")
        ]

    def __str__(self) -> str:
        return f"{self.run} v{self.number}"


class OuterState(models.Model):
    """One vector of the outer optimiser's state that belongs to a snapshot."""

    snapshot = models.ForeignKey(Snapshot, models.CASCADE, verbose_name=_("snapshot"))
    name = models.CharField(_("name"), max_length=20, help_text=_("What the optimiser calls it."))
    sha256 = models.CharField(
        _("SHA-256"), max_length=SHA256_LENGTH, help_text=_("Raw float32 in manifest order.")
    )

    class Meta:
        ordering = ["snapshot", "name"]
        verbose_name = _("outer state")
        verbose_name_plural = _("outer states")
        constraints = [
            models.UniqueConstraint(fields=["snapshot", "name"], name="one_outer_state_per_name")
        ]

    def __str__(self) -> str:
        return f"{self.snapshot} {self.name}"
