"""An operator's coordinators, from the application on."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.scopes import Scope
from apiv1.errors import Problem
from apiv1.etags import demand_match, match_if_given, tagged, unless_known
from apiv1.idempotency import idempotent
from apiv1.paging import NewestFirst
from apiv1.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_MATCH_OR_NOT, IF_NONE_MATCH
from apiv1.serializers.coordinators import OwnCoordinatorSerializer
from apiv1.views.base import PrivateView
from portal.listings.edit import begin, edit
from portal.listings.submit import submit
from portal.listings.withdraw import withdraw
from portal.models import Coordinator, CoordinatorQuerySet


def show(coordinator: Coordinator, status: int = 200) -> Response:
    """A coordinator with its ETag."""
    data = OwnCoordinatorSerializer(coordinator).data
    return tagged(Response(data, status), coordinator.revision)


@extend_schema(tags=["coordinators"])
class Coordinators(PrivateView, ListAPIView):
    """Your coordinators; a new one begins as a draft."""

    scopes = {"GET": Scope.COORDINATORS_READ, "POST": Scope.COORDINATORS_WRITE}
    serializer_class = OwnCoordinatorSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> CoordinatorQuerySet:
        return self.own_coordinators()

    @extend_schema(operation_id="coordinators_list", summary=gettext_noop("List mine"))
    def get(self, request: Request) -> Response:
        return self.list(request)

    @extend_schema(
        operation_id="coordinators_apply",
        summary=gettext_noop("Begin an application"),
        description=gettext_noop("It begins as a draft."),
        parameters=[IDEMPOTENCY_KEY],
        responses={201: OwnCoordinatorSerializer},
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        if self.bound_to is not None:
            raise Problem(403, "bound_key", _("This key is bound to one coordinator."))
        given = OwnCoordinatorSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        answer = show(begin(request.user, **given.validated_data), 201)
        answer["Location"] = reverse("apiv1:coordinator", args=[answer.data["slug"]])
        return answer


@extend_schema(tags=["coordinators"])
class OneCoordinator(PrivateView):
    """One of your coordinators."""

    scopes = {"GET": Scope.COORDINATORS_READ, "PATCH": Scope.COORDINATORS_WRITE}

    @extend_schema(
        operation_id="coordinators_read",
        summary=gettext_noop("Read one"),
        parameters=[IF_NONE_MATCH],
        responses=OwnCoordinatorSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        return unless_known(request, show(self.own_coordinator(slug)))

    @extend_schema(
        operation_id="coordinators_update",
        summary=gettext_noop("Change what it says"),
        description=gettext_noop(
            "A changed address drops the verification and asks for approval again. The short name "
            "can be changed in a draft only."
        ),
        parameters=[IF_MATCH],
        request=OwnCoordinatorSerializer(partial=True),
        responses=OwnCoordinatorSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        coordinator = self.own_coordinator(slug)
        revision = demand_match(request, coordinator)
        given = OwnCoordinatorSerializer(coordinator, data=request.data, partial=True)
        given.is_valid(raise_exception=True)
        edit(coordinator, request.user, revision, **given.validated_data)
        return show(coordinator)


class _Move(PrivateView):
    """A verb of the listing that takes nothing but the coordinator."""

    scopes = {"POST": Scope.COORDINATORS_WRITE}


@extend_schema(tags=["coordinators"])
class Submission(_Move):
    @extend_schema(
        operation_id="coordinators_submit",
        summary=gettext_noop("Hand it in for approval"),
        parameters=[IDEMPOTENCY_KEY, IF_MATCH_OR_NOT],
        request=None,
        responses=OwnCoordinatorSerializer,
    )
    @idempotent()
    def post(self, request: Request, slug: str) -> Response:
        coordinator = self.own_coordinator(slug)
        match_if_given(request, coordinator)
        submit(coordinator, request.user)
        return show(coordinator)


@extend_schema(tags=["coordinators"])
class Withdrawal(_Move):
    @extend_schema(
        operation_id="coordinators_withdraw",
        summary=gettext_noop("Take it out for good"),
        parameters=[IDEMPOTENCY_KEY, IF_MATCH_OR_NOT],
        request=None,
        responses=OwnCoordinatorSerializer,
    )
    @idempotent()
    def post(self, request: Request, slug: str) -> Response:
        coordinator = self.own_coordinator(slug)
        match_if_given(request, coordinator)
        withdraw(coordinator, request.user)
        return show(coordinator)
