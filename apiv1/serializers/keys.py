"""Keys, which are shown without their secret but once."""

from django.utils.translation import gettext_noop
from rest_framework import serializers

from accounts.keys.create import MAX_DAYS
from accounts.keys.rotate import MAX_OVERLAP_HOURS
from accounts.keys.scopes import Scope
from accounts.models import ApiKey, User


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices))
    coordinator = serializers.SlugRelatedField(
        slug_field="slug",
        read_only=True,
        allow_null=True,
        help_text=gettext_noop("The one it is bound to; null: all of its owner's."),
    )
    live = serializers.BooleanField(source="is_live", read_only=True)

    class Meta:
        model = ApiKey
        fields: tuple[str, ...] = (
            "key_id", "name", "scopes", "coordinator", "live", "created_at", "expires_at",
            "last_used_at", "revoked_at",
        )  # fmt: skip
        read_only_fields: tuple[str, ...] = fields


class NewKeySerializer(KeySerializer):
    """A key's only showing with its secret."""

    secret = serializers.CharField(
        allow_null=True,
        help_text=gettext_noop("Shown once; null in the answer to a repeated request."),
    )

    class Meta(KeySerializer.Meta):
        fields = (*KeySerializer.Meta.fields, "secret")
        read_only_fields = fields


class KeyWishSerializer(serializers.Serializer):
    name = serializers.CharField(max_length=80)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Scope.choices), allow_empty=False, max_length=len(Scope)
    )
    coordinator = serializers.SlugField(
        required=False,
        allow_null=True,
        help_text=gettext_noop("Bind it to one; null: all of yours."),
    )
    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=MAX_DAYS)


class RotationSerializer(serializers.Serializer):
    overlap_hours = serializers.IntegerField(
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        default=24,
        help_text=gettext_noop("How long the old one works on."),
    )


class MeSerializer(serializers.ModelSerializer[User]):
    key = serializers.SerializerMethodField(
        help_text=gettext_noop("The one you came with; null in a browser.")
    )

    class Meta:
        model = User
        fields = ("email", "name", "language", "date_joined", "key")
        read_only_fields = fields

    def get_key(self, user: User) -> KeySerializer(allow_null=True):  # type: ignore[valid-type]
        key = self.context["key"]
        return None if key is None else KeySerializer(key).data
