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

    run = models.ForeignKey(Run, models.CASCADE, verbose_name=_("run"))
    number = models.PositiveIntegerField(_("number"))
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.OPEN)
    attempt = models.PositiveIntegerField(
        _("merge attempt"), default=0, help_text=_("Which merge attempt may publish this round.")
    )
    participants = models.JSONField(
        _("results in the merge"),
        default=list,
        blank=True,
        help_text=_("Ids of the results in the running merge attempt."),
    )
    reopenings = models.PositiveIntegerField(_("reopenings"), default=0)
    opened_at = models.DateTimeField(_("opened"))
    deadline_at = models.DateTimeField(_("deadline"))
    merge_claimed_at = models.DateTimeField(_("merge taken up"), null=True, blank=True)
    published_at = models.DateTimeField(_("published"), null=True, blank=True)
    loss = models.FloatField(_("loss"), null=True, blank=True)
    accepted = models.PositiveIntegerField(_("accepted"), default=0)
    screened = models.PositiveIntegerField(_("screened out"), default=0)
    update_norm = models.FloatField(_("norm of the update"), null=True, blank=True)
    rule = models.CharField(_("merging rule"), max_length=20, choices=Run.Rule, blank=True)
    fallback = models.CharField(
        _("why another rule stood in"),
        max_length=200,
        blank=True,
        help_text=_("Why the run's own rule was not used."),
    )
    lora_bias = models.FloatField(
        _("LoRA bias"),
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
