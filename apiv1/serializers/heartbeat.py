"""A heartbeat and its answer; the bounds are those of ``portal.heartbeats.beat``."""

from django.utils.translation import gettext_noop
from rest_framework import serializers

from portal.heartbeats import beat
from portal.heartbeats.receive import Answer
from portal.models import MAX_ROUND, RunStatus


class BeatSerializer(serializers.Serializer[beat.Beat]):
    seq = serializers.IntegerField(
        min_value=1,
        max_value=beat.MAX_SEQ,
        help_text=gettext_noop(
            "Rises from beat to beat, over restarts too; the time in milliseconds does."
        ),
    )
    status = serializers.ChoiceField(RunStatus.choices)
    round = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_ROUND
    )
    rounds = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=beat.MAX_ROUNDS
    )
    workers = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=beat.MAX_WORKERS
    )
    loss = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=beat.MAX_LOSS,
        help_text=gettext_noop("Of the newest published round, in nats per token."),
    )
    software = serializers.CharField(required=False, allow_blank=True, max_length=beat.MAX_SOFTWARE)

    def create(self, validated_data: dict) -> beat.Beat:
        return beat.Beat(**validated_data)


class AnswerSerializer(serializers.Serializer[Answer]):
    interval_s = serializers.IntegerField(
        help_text=gettext_noop("Send the next in so many seconds.")
    )
    seq = serializers.IntegerField(
        help_text=gettext_noop("The newest known; an older one changed nothing.")
    )
