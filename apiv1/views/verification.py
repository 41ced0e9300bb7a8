"""Proving that an address is the operator's."""

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext_noop
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.scopes import Scope
from apiv1.idempotency import idempotent
from apiv1.paging import NewestAttemptFirst
from apiv1.schema import IDEMPOTENCY_KEY
from apiv1.serializers.verification import AttemptSerializer, ChallengeSerializer
from apiv1.views.base import PrivateView
from portal.models import Attempt
from portal.verification.request import request_check


@extend_schema(tags=["verification"])
class Challenge(PrivateView):
    scopes = {"GET": Scope.COORDINATORS_READ}

    @extend_schema(
        operation_id="verification_challenge",
        summary=gettext_noop("What to serve, and how the proof stands"),
        responses=ChallengeSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(ChallengeSerializer(self.own_coordinator(slug)).data)


@extend_schema(tags=["verification"])
class Check(PrivateView):
    scopes = {"POST": Scope.VERIFICATION_WRITE}

    @extend_schema(
        operation_id="verification_check",
        summary=gettext_noop("Check now"),
        description=gettext_noop(
            "Queues a check, or names the one under way; Location is where to watch it."
        ),
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses={202: AttemptSerializer},
    )
    @idempotent()
    def post(self, request: Request, slug: str) -> Response:
        coordinator = self.own_coordinator(slug)
        attempt = request_check(coordinator, request.user, Attempt.Trigger.OWNER)
        address = reverse("apiv1:attempt", args=[slug, attempt.pk])
        return Response(AttemptSerializer(attempt).data, 202, headers={"Location": address})


@extend_schema(tags=["verification"])
class Attempts(PrivateView, ListAPIView):
    scopes = {"GET": Scope.COORDINATORS_READ}
    serializer_class = AttemptSerializer
    pagination_class = NewestAttemptFirst

    def get_queryset(self) -> QuerySet[Attempt]:
        return self.own_coordinator(self.kwargs["slug"]).attempts.all()

    @extend_schema(
        operation_id="verification_evidence", summary=gettext_noop("Every look, with its evidence")
    )
    def get(self, request: Request, slug: str) -> Response:
        return self.list(request)


@extend_schema(tags=["verification"])
class OneAttempt(PrivateView):
    scopes = {"GET": Scope.COORDINATORS_READ}

    @extend_schema(
        operation_id="verification_attempt",
        summary=gettext_noop("One look"),
        responses=AttemptSerializer,
    )
    def get(self, request: Request, slug: str, attempt_id: int) -> Response:
        attempt = self.own_coordinator(slug).attempts.filter(pk=attempt_id).first()
        if attempt is None:
            raise Http404
        return Response(AttemptSerializer(attempt).data)
