from rest_framework.generics import ListAPIView

from apiv1.paging import DirectoryPagination
from apiv1.serializers import CoordinatorSerializer
from portal.models import Coordinator, CoordinatorQuerySet


class Directory(ListAPIView[Coordinator]):
    """The public directory: approved coordinators, oldest approval first."""

    serializer_class = CoordinatorSerializer
    pagination_class = DirectoryPagination

    def get_queryset(self) -> CoordinatorQuerySet:
        return Coordinator.objects.listed()
