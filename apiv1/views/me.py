"""The caller."""

from django.utils.translation import gettext_noop
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.scopes import Scope
from apiv1.serializers.keys import MeSerializer
from apiv1.views.base import PrivateView


@extend_schema(tags=["profile"])
class Me(PrivateView):
    scopes = {"GET": Scope.PROFILE_READ}

    @extend_schema(operation_id="me", summary=gettext_noop("Who you are"), responses=MeSerializer)
    def get(self, request: Request) -> Response:
        return Response(MeSerializer(request.user, context={"key": request.auth}).data)
