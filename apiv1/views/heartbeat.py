"""What a coordinator tells of itself, once a minute or so."""

from django.utils.translation import gettext_noop
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.scopes import Scope
from apiv1.serializers.heartbeat import AnswerSerializer, BeatSerializer
from apiv1.views.base import PrivateView
from portal.heartbeats.receive import receive


@extend_schema(tags=["heartbeat"])
class Heartbeat(PrivateView):
    scopes = {"PUT": Scope.HEARTBEAT_WRITE}

    @extend_schema(
        operation_id="heartbeat_put",
        summary=gettext_noop("Send a heartbeat"),
        description=gettext_noop("Sending one twice, or out of order, changes nothing."),
        request=BeatSerializer,
        responses=AnswerSerializer,
    )
    def put(self, request: Request, slug: str) -> Response:
        coordinator = self.own_coordinator(slug)
        given = BeatSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        return Response(AnswerSerializer(receive(coordinator, given.save())).data)
