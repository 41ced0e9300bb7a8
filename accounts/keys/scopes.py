"""What a key may be allowed to do."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    PROFILE_READ = "profile:read", _("read your profile")
    COORDINATORS_READ = "coordinators:read", _("read your coordinators")
    COORDINATORS_WRITE = "coordinators:write", _("apply, change, submit and withdraw")
    VERIFICATION_WRITE = "verification:write", _("ask for checks of an address")
    HEARTBEAT_WRITE = "heartbeat:write", _("send heartbeats")
    KEYS_WRITE = "keys:write", _("list, create, rotate and revoke keys")
