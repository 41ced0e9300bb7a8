"""What all views of the API share: whose coordinators, and how public answers may be read."""

from typing import Any, ClassVar

from django.http import Http404, HttpResponseBase
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.keys.scopes import Scope
from accounts.origin import HEADER as REQUEST_ID
from portal.models import Coordinator, CoordinatorQuerySet

# Without OPTIONS: no preflight is ever granted, and DRF's answer to it describes nothing new.
METHODS = ["get", "head", "post", "put", "patch", "delete"]


def let_other_sites_read(response: HttpResponseBase) -> None:
    """Their scripts may have the body, and the headers that say what to do after a refusal."""
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Expose-Headers"] = f"ETag, Retry-After, {REQUEST_ID}"


class PrivateView(APIView):
    """For operators: ``scopes`` names per method what a key needs."""

    http_method_names = METHODS
    scopes: ClassVar[dict[str, Scope]] = {}

    def own_coordinators(self) -> CoordinatorQuerySet:
        """The caller's; through a bound key only the one that it is bound to."""
        own = Coordinator.objects.filter(operator=self.request.user)
        bound_to = self.bound_to
        return own if bound_to is None else own.filter(pk=bound_to)

    @property
    def bound_to(self) -> int | None:
        """The id of the coordinator that the caller's key is bound to."""
        return None if self.request.auth is None else self.request.auth.coordinator_id

    def own_coordinator(self, slug: str) -> Coordinator:
        """Raises Http404 for one that does not exist, and for another operator's alike."""
        coordinator = self.own_coordinators().filter(slug=slug).first()
        if coordinator is None:
            raise Http404
        return coordinator

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response


class PublicView(APIView):
    """For everybody, scripts on other sites' pages included; no credentials are looked at."""

    http_method_names = METHODS
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        let_other_sites_read(response)
        if response.status_code < 400:
            response["Cache-Control"] = "public, max-age=15"
        return response
