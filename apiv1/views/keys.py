"""API keys. Through a key nobody gets at more than that key may do itself."""

from allauth.account.decorators import reauthentication_required
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.create import create_key
from accounts.keys.revoke import revoke_key
from accounts.keys.rotate import rotate_key
from accounts.keys.scopes import Scope
from accounts.models import ApiKey
from apiv1.idempotency import idempotent
from apiv1.paging import NewestFirst
from apiv1.schema import IDEMPOTENCY_KEY
from apiv1.serializers.keys import (
    KeySerializer,
    KeyWishSerializer,
    NewKeySerializer,
    RotationSerializer,
)
from apiv1.views.base import PrivateView
from portal.models import Coordinator


@reauthentication_required
def _demand_fresh_sign_in(request: HttpRequest) -> None:
    """The decorator does it."""


class KeyView(PrivateView):
    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """A browser left open gives no keys away: changes need a fresh sign-in, as in the panel.

        Raises:
            ReauthenticationRequired: a session whose person did not sign in just now.
        """
        super().initial(request, *args, **kwargs)
        if request.auth is None and request.method not in ("GET", "HEAD"):
            _demand_fresh_sign_in(request._request)

    def own_keys(self) -> QuerySet[ApiKey]:
        own = ApiKey.objects.filter(owner=self.request.user).select_related("coordinator")
        return own if self.bound_to is None else own.filter(coordinator_id=self.bound_to)

    def own_key(self, key_id: str) -> ApiKey:
        key = self.own_keys().filter(key_id=key_id).first()
        if key is None:
            raise Http404
        return key


def _show_new(key: ApiKey, secret: str) -> Response:
    data = {**KeySerializer(key).data, "secret": secret}
    return Response(data, 201, headers={"Location": reverse("apiv1:key", args=[key.key_id])})


@extend_schema(tags=["keys"])
class Keys(KeyView, ListAPIView):
    scopes = {"GET": Scope.KEYS_WRITE, "POST": Scope.KEYS_WRITE}
    serializer_class = KeySerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[ApiKey]:
        return self.own_keys()

    @extend_schema(operation_id="keys_list", summary=gettext_noop("Your keys, live or not"))
    def get(self, request: Request) -> Response:
        return self.list(request)

    @extend_schema(
        operation_id="keys_create",
        summary=gettext_noop("Make a key"),
        description=gettext_noop("The answer is the only place where its secret ever stands."),
        parameters=[IDEMPOTENCY_KEY],
        request=KeyWishSerializer,
        responses={201: NewKeySerializer},
    )
    @idempotent(secret="secret")
    def post(self, request: Request) -> Response:
        given = KeyWishSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        wish = dict(given.validated_data)
        coordinator = self.named_coordinator(wish.pop("coordinator", None))
        made = create_key(request.user, **wish, coordinator=coordinator, within=request.auth)
        return _show_new(*made)

    def named_coordinator(self, slug: str | None) -> Coordinator | None:
        """Raises ValidationError unless it is the caller's."""
        if slug is None:
            return None
        coordinator = self.own_coordinators().filter(slug=slug).first()
        if coordinator is None:
            raise ValidationError({"coordinator": _("Choose one of your own coordinators.")})
        return coordinator


@extend_schema(tags=["keys"])
class OneKey(KeyView):
    scopes = {"GET": Scope.KEYS_WRITE, "DELETE": Scope.KEYS_WRITE}

    @extend_schema(
        operation_id="keys_read", summary=gettext_noop("One key"), responses=KeySerializer
    )
    def get(self, request: Request, key_id: str) -> Response:
        return Response(KeySerializer(self.own_key(key_id)).data)

    @extend_schema(
        operation_id="keys_revoke",
        summary=gettext_noop("Revoke it at once"),
        responses={204: OpenApiResponse(description=gettext_noop("It is revoked."))},
    )
    def delete(self, request: Request, key_id: str) -> Response:
        revoke_key(self.own_key(key_id), request.user)
        return Response(status=204)


@extend_schema(tags=["keys"])
class Rotation(KeyView):
    scopes = {"POST": Scope.KEYS_WRITE}

    @extend_schema(
        operation_id="keys_rotate",
        summary=gettext_noop("Replace it"),
        description=gettext_noop(
            "Both work during the overlap; the new one lives as long as the old one did."
        ),
        parameters=[IDEMPOTENCY_KEY],
        request=RotationSerializer,
        responses={201: NewKeySerializer},
    )
    @idempotent(secret="secret")
    def post(self, request: Request, key_id: str) -> Response:
        key = self.own_key(key_id)
        given = RotationSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        hours = given.validated_data["overlap_hours"]
        return _show_new(*rotate_key(key, request.user, hours, within=request.auth))
