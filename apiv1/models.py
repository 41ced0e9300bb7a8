"""Requests that may come twice and must act once."""

from django.conf import settings
from django.db import models


class IdempotentRequest(models.Model):
    """A POST with an Idempotency-Key, and its answer once there is one."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    path = models.CharField(max_length=300)
    key = models.CharField(max_length=255)
    reach = models.PositiveBigIntegerField(
        default=0, help_text="The coordinator that the API key is bound to; 0: all of the user's."
    )
    body_hash = models.CharField(max_length=64)
    claimed_at = models.DateTimeField(help_text="When the request that acts came in.")
    status = models.PositiveSmallIntegerField(null=True, help_text="Null while it is in flight.")
    headers = models.JSONField(default=dict)
    answer = models.JSONField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["user", "path", "key", "reach"], name="apiv1_acts_once"
            ),
        )
        indexes = (models.Index(fields=["claimed_at"], name="apiv1_claimed"),)

    def __str__(self) -> str:
        return f"{self.path} {self.key}"
