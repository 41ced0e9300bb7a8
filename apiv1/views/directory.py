"""The public directory."""

from django.http import Http404
from django.utils.translation import gettext_noop
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apiv1.etags import tagged, unless_known
from apiv1.paging import NewestFirst
from apiv1.schema import IF_NONE_MATCH
from apiv1.serializers.coordinators import (
    DirectoryFilterSerializer,
    ListedCoordinatorDetailSerializer,
    ListedCoordinatorSerializer,
)
from apiv1.views.base import PublicView
from portal.models import Coordinator, CoordinatorQuerySet


@extend_schema(tags=["directory"], parameters=[DirectoryFilterSerializer])
class Directory(PublicView, ListAPIView):
    """The coordinators that anybody may join: approved, their address verified. Newest first."""

    serializer_class = ListedCoordinatorSerializer
    pagination_class = NewestFirst

    @extend_schema(
        operation_id="directory_list",
        summary=gettext_noop("Coordinators that anybody may join"),
        description=gettext_noop("Approved, their address verified; newest first."),
    )
    def get(self, request: Request) -> Response:
        return self.list(request)

    def get_queryset(self) -> CoordinatorQuerySet:
        filters = DirectoryFilterSerializer(data=self.request.query_params)
        filters.is_valid(raise_exception=True)
        wanted = dict(filters.validated_data)
        found = Coordinator.objects.listed()
        if language := wanted.pop("language", None):
            # A code is 2 or 3 letters between commas or at an end.
            found = found.filter(languages__regex=rf"(^|,){language}(,|$)")
        return found.filter(**wanted)


@extend_schema(tags=["directory"])
class DirectoryEntry(PublicView):
    """One coordinator of the directory, with its loss per round and its uptime."""

    @extend_schema(
        operation_id="directory_read",
        summary=gettext_noop("One of them, with its loss per round and its uptime"),
        parameters=[IF_NONE_MATCH],
        responses=ListedCoordinatorDetailSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        coordinator = Coordinator.objects.listed().filter(slug=slug).first()
        if coordinator is None:
            raise Http404
        answer = Response(ListedCoordinatorDetailSerializer(coordinator).data)
        return unless_known(request, tagged(answer, coordinator.revision))
