"""Coordinators as their operator sees them and as the public does."""

from typing import Any

from django.core.validators import validate_slug
from django.utils.translation import gettext_noop
from rest_framework import serializers

from portal.heartbeats.uptime import uptime_90
from portal.listings.edit import EDITABLE
from portal.models import LANGUAGE_LIST, Coordinator, LossPoint, RunStatus

STATED = (
    "slug", "name", "address", "description", "base_model", "mode", "languages", "data_source",
    "data_licence", "hardware",
)  # fmt: skip
SEEN = (
    "proof", "verified_at", "approved_at", "presence", "heartbeat_at", "run_status", "round",
    "rounds", "workers", "loss", "software",
)  # fmt: skip


class LanguageCodes(serializers.ListField):
    """Codes in a list; the database has them with commas."""

    child = serializers.RegexField(r"^[a-z]{2,3}$")

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=20, **options)

    def to_representation(self, data: str) -> list[str]:
        return [code for code in data.split(",") if code]

    def to_internal_value(self, data: Any) -> str:
        text = ",".join(super().to_internal_value(data))
        if text:
            LANGUAGE_LIST(text)
        return text


class RunStatusField(serializers.ChoiceField):
    """Null before the first heartbeat."""

    def __init__(self) -> None:
        super().__init__(RunStatus.choices, read_only=True, allow_null=True)

    def to_representation(self, value: str) -> str | None:
        return value or None


class OwnCoordinatorSerializer(serializers.ModelSerializer[Coordinator]):
    """A coordinator as its operator sees it."""

    # What is unique is left to the verbs, which know when it has to be.
    languages = LanguageCodes(required=False)
    run_status = RunStatusField()

    class Meta:
        model = Coordinator
        fields = (
            *EDITABLE, "state", "revision", "message", "created_at", "submitted_at", *SEEN,
        )  # fmt: skip
        read_only_fields = tuple(name for name in fields if name not in EDITABLE)
        extra_kwargs = {
            "slug": {"validators": [validate_slug]},
            "address": {"validators": []},
        }


class ListedCoordinatorSerializer(serializers.ModelSerializer[Coordinator]):
    """A coordinator as everybody sees it."""

    languages = LanguageCodes()
    run_status = RunStatusField()

    class Meta:
        model = Coordinator
        fields: tuple[str, ...] = (*STATED, "created_at", *SEEN)
        read_only_fields = fields


class LossPointSerializer(serializers.ModelSerializer[LossPoint]):
    class Meta:
        model = LossPoint
        fields = ("round", "loss")


class ListedCoordinatorDetailSerializer(ListedCoordinatorSerializer):
    losses = LossPointSerializer(source="loss_points", many=True, read_only=True)
    uptime_90 = serializers.SerializerMethodField(
        help_text=gettext_noop(
            "Share of the last 90 days, 0 to 1; null before the first heartbeat."
        )
    )

    class Meta(ListedCoordinatorSerializer.Meta):
        fields = (*ListedCoordinatorSerializer.Meta.fields, "uptime_90", "losses")

    def get_uptime_90(self, coordinator: Coordinator) -> float | None:
        return uptime_90(coordinator)


class DirectoryFilterSerializer(serializers.Serializer):
    """The directory's filters; all are optional and all have to hold."""

    base_model = serializers.CharField(required=False, max_length=200)
    mode = serializers.ChoiceField(Coordinator.mode.field.choices, required=False)
    language = serializers.RegexField(r"^[a-z]{2,3}$", required=False)
    presence = serializers.ChoiceField(Coordinator.presence.field.choices, required=False)
