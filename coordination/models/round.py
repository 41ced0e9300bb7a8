"""A round of a run."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from coordination.models.run import Run


class Round(models.Model):
    class State(models.TextChoices):
        OPEN = "open", _("open")
        MERGING = "merging", _("merging")
        PUBLISHED = "published", _("published")

    run = models.ForeignKey(Run, models.CASCADE)
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    attempt = models.PositiveIntegerField(
        default=0, help_text=_("Which merge attempt may publish this round.")
    )
    participants = models.JSONField(
        default=list,
        blank=True,
        help_text=_("Ids of the results in the running merge attempt."),
    )
    reopenings = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    merge_claimed_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    loss = models.FloatField(null=True, blank=True)
    accepted = models.PositiveIntegerField(default=0)
    screened = models.PositiveIntegerField(default=0)
    update_norm = models.FloatField(null=True, blank=True)
    rule = models.CharField(max_length=20, choices=Run.Rule, blank=True)
    fallback = models.CharField(
        max_length=200, blank=True, help_text=_("Why the run's own rule was not used.")
    )
    lora_bias = models.FloatField(
        null=True,
        blank=True,
        help_text=_("How far the product of the mean factors is from the mean product, as a part."),
    )

    class Meta:
        ordering = ["run", "number"]
        verbose_name = _("round")
        verbose_name_plural = _("rounds")
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_round_per_number"),
            models.UniqueConstraint(
                fields=["run"],
                condition=~Q(state="published"),
                name="one_unpublished_round",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} r{self.number}"

    @property
    def seconds(self) -> float | None:
        if self.published_at is None:
            return None
        # A clock may have been set back in between.
        return max(0.0, (self.published_at - self.opened_at).total_seconds())
