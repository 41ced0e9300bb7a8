"""What the pages of the admin have in common."""

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ActionForm
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from coordination.models import Worker


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows are made and changed by verbs only."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class ReadOnlyInline(admin.TabularInline):
    can_delete = False
    extra = 0
    max_num = 0

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class ReasonForm(ActionForm):
    reason = forms.CharField(
        label=_("Reason, which volunteers read:"), max_length=300, required=False
    )


def in_one_piece(worker: Worker) -> str:
    """A worker's name, which browsers would break at its hyphens."""
    return format_html('<span class="name">{}</span>', worker.name)
