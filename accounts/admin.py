from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import BaseUserCreationForm
from django.contrib.auth.models import Group
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.delete import LastAdmin, delete_account
from accounts.keys.errors import NotLive
from accounts.keys.revoke import revoke_key
from accounts.models import ApiKey, AuditEvent, User

# The same door as everybody's, with its limits and its second factor.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
# Their forms show secrets (a session's key signs in as its person), and which other sites there are
# is said by the settings.
admin.site.unregister([Authenticator, SocialApp, SocialToken, UserSession])


admin.site.unregister(Group)


# Django's widget of two lists has labels that screen readers do not read; a plain list has.
PLAIN_LISTS: tuple[str, ...] = ()


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin):
    filter_horizontal = PLAIN_LISTS


class UserCreationForm(BaseUserCreationForm):
    class Meta:
        model = User
        fields = ("email", "name")


@admin.register(User)
class UserAdmin(DjangoUserAdmin):
    add_form = UserCreationForm
    filter_horizontal = PLAIN_LISTS
    list_display = ("email", "name", "is_staff", "is_active", "date_joined")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("email", "name")
    ordering = ("email",)
    readonly_fields = ("date_joined", "last_login")
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        (_("Mail"), {"fields": ("language", "mails_presence", "mails_verification")}),
        (
            _("Permissions"),
            {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")},
        ),
        (_("Dates"), {"fields": ("date_joined", "last_login")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "name", "password1", "password2")}),)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, Any]:
        """What is theirs (keys, say) goes with a user, though it cannot be deleted by itself."""
        to_delete, counts, _needed, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        try:
            delete_account(obj)
        except LastAdmin:
            self.message_user(request, _("Nobody would be left to administer."), messages.ERROR)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            self.delete_model(request, user)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only verbs write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "verb", "target", "actor", "ip")
    list_filter = ("verb", "at")
    list_select_related = ("actor",)
    search_fields = ("target", "ip", "request_id")


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "key_id", "owner", "coordinator", "expires_at", "revoked_at")
    list_filter = ("expires_at", "revoked_at")
    list_select_related = ("owner", "coordinator")
    search_fields = ("key_id", "owner__email")
    exclude = ("digest",)
    actions = ("revoke_selected",)

    @admin.action(description=_("Revoke selected keys"), permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        assert isinstance(request.user, User)
        for key in queryset:
            try:
                revoke_key(key, by=request.user)
            except NotLive as error:
                self.message_user(request, f"{key}: {error}", messages.ERROR)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_apikey")
