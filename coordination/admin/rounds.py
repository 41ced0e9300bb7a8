"""What happens in a round: its units of work, leases and results."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from coordination.admin.base import ReadOnlyAdmin
from coordination.leases.requeue import requeue_unit
from coordination.models import Lease, Result, Round, Unit, Upload


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin):
    list_display = (
        "run",
        "number",
        "state",
        "accepted",
        "screened",
        "loss",
        "rule",
        "fallback",
        "lora_bias",
        "opened_at",
    )
    list_filter = ("state", "run")
    list_select_related = ("run",)


@admin.register(Unit)
class UnitAdmin(ReadOnlyAdmin):
    list_display = ("round", "shard", "job", "state")
    list_filter = ("job", "state", "round__run")
    list_select_related = ("round__run", "chunk__run")
    actions = ("requeue",)

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("coordination.change_run")

    @admin.action(
        description=_("Take back the leases and re-queue the selected units"),
        permissions=["requeue"],
    )
    def requeue(self, request: HttpRequest, units: QuerySet[Unit]) -> None:
        done = sum(requeue_unit(unit) for unit in units)
        self.message_user(
            request,
            _("%(count)d units are free again; units that are done stay done.") % {"count": done},
            messages.SUCCESS if done else messages.WARNING,
        )


@admin.register(Lease)
class LeaseAdmin(ReadOnlyAdmin):
    list_display = ("token", "unit", "worker", "state", "step", "granted_at", "expires_at")
    list_filter = ("state", "unit__round__run")
    list_select_related = ("unit__round__run", "worker")
    search_fields = ("token", "worker__name")
    exclude = ("request_digest", "key_digest")


@admin.register(Result)
class ResultAdmin(ReadOnlyAdmin):
    list_display = (
        "unit",
        "lease",
        "state",
        "code",
        "weight",
        "update_norm",
        "loss_last",
        "created_at",
    )
    list_filter = ("state", "code", "unit__round__run")
    list_select_related = ("unit__round__run", "lease")
    search_fields = ("sha256", "lease__worker__name")


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    list_display = ("lease", "size", "sha256", "created_at")
    list_select_related = ("lease",)
