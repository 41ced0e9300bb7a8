from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from portal.listings.decide import approve
from portal.listings.errors import NotAllowed, Outdated, WrongState
from portal.models import Coordinator, CoordinatorQuerySet


@admin.register(Coordinator)
class CoordinatorAdmin(admin.ModelAdmin):
    list_display = ("name", "address", "state", "operator", "approved_at")
    list_filter = ("state",)
    list_select_related = ("operator",)
    search_fields = ("name", "slug", "address", "operator__email")
    readonly_fields = ("state", "created_at", "submitted_at", "approved_at", "approved_by")
    actions = ("approve_selected",)

    @admin.action(description=_("Approve selected coordinators"), permissions=["change"])
    def approve_selected(self, request: HttpRequest, queryset: CoordinatorQuerySet) -> None:
        assert isinstance(request.user, User)
        for coordinator in queryset:
            try:
                approve(coordinator, by=request.user)
            except (NotAllowed, Outdated, WrongState) as error:
                self.message_user(request, f"{coordinator}: {error}", messages.ERROR)
