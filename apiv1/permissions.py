"""Deny by default: a view says which scope each method needs, or nobody may call it."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apiv1.errors import Problem

if TYPE_CHECKING:  # it imports the policies that the settings name
    from rest_framework.views import APIView


class Scoped(BasePermission):
    """Lets in the signed-in, and keys that have the scope in ``view.scopes[method]``."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if request.method not in view.allowed_methods:
            raise MethodNotAllowed(request.method)
        if request.user is None or not request.user.is_authenticated:
            return False
        scope = getattr(view, "scopes", {}).get(
            "GET" if request.method == "HEAD" else request.method
        )
        if scope is None:
            return False
        if request.auth is not None and scope not in request.auth.scopes:
            raise Problem(403, "missing_scope", _("This needs a key with the scope %s.") % scope)
        return True
