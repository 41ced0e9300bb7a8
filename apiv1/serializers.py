from rest_framework import serializers

from portal.models import Coordinator


class CoordinatorSerializer(serializers.ModelSerializer[Coordinator]):
    class Meta:
        model = Coordinator
        fields = ("slug", "name", "address", "description", "approved_at")
