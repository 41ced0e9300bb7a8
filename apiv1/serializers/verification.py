"""What proves an address, and what came of looking."""

from django.utils.translation import gettext_noop
from rest_framework import serializers

from portal.models import Attempt, Coordinator
from portal.verification import challenge
from portal.verification.codes import explain


class CommandSerializer(serializers.Serializer[challenge.Command]):
    title = serializers.CharField()
    text = serializers.CharField()


class ChallengeSerializer(serializers.ModelSerializer[Coordinator]):
    url = serializers.SerializerMethodField(help_text=gettext_noop("Where the line has to be."))
    line = serializers.SerializerMethodField(
        help_text=gettext_noop("The line; one file may have several.")
    )
    commands = serializers.SerializerMethodField(
        help_text=gettext_noop("Ways to serve it, ready to copy.")
    )

    class Meta:
        model = Coordinator
        fields = (
            "proof", "verified_at", "next_check_at", "failing_since", "url", "line", "commands",
        )  # fmt: skip
        read_only_fields = fields

    def get_url(self, coordinator: Coordinator) -> str:
        return challenge.url(coordinator)

    def get_line(self, coordinator: Coordinator) -> str:
        return challenge.line(coordinator)

    def get_commands(self, coordinator: Coordinator) -> CommandSerializer(many=True):  # type: ignore[valid-type]
        return CommandSerializer(challenge.commands(coordinator), many=True).data


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    sentence = serializers.SerializerMethodField(
        help_text=gettext_noop("The code in words; empty while it runs.")
    )
    remedy = serializers.SerializerMethodField(help_text=gettext_noop("What to do about it."))
    hops = serializers.ListField(
        child=serializers.DictField(),
        read_only=True,
        help_text=gettext_noop("Per request: URL, addresses found, address used, status."),
    )

    class Meta:
        model = Attempt
        fields = (
            "id", "trigger", "address", "queued_at", "started_at", "finished_at", "code",
            "sentence", "remedy", "hops", "received_bytes",
        )  # fmt: skip
        read_only_fields = fields

    def get_sentence(self, attempt: Attempt) -> str:
        return str(explain(attempt.code).sentence) if attempt.code else ""

    def get_remedy(self, attempt: Attempt) -> str:
        return str(explain(attempt.code).remedy) if attempt.code else ""
