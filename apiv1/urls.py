from django.urls import path

from apiv1.views.coordinators import Coordinators, OneCoordinator, Submission, Withdrawal
from apiv1.views.directory import Directory, DirectoryEntry
from apiv1.views.docs import docs, openapi
from apiv1.views.heartbeat import Heartbeat
from apiv1.views.keys import Keys, OneKey, Rotation
from apiv1.views.me import Me
from apiv1.views.verification import Attempts, Challenge, Check, OneAttempt

app_name = "apiv1"
_ONE = "coordinators/<slug:slug>"
urlpatterns = [
    path("me", Me.as_view(), name="me"),
    path("coordinators", Coordinators.as_view(), name="coordinators"),
    path(_ONE, OneCoordinator.as_view(), name="coordinator"),
    path(f"{_ONE}/submit", Submission.as_view(), name="submit"),
    path(f"{_ONE}/withdraw", Withdrawal.as_view(), name="withdraw"),
    path(f"{_ONE}/verification", Challenge.as_view(), name="verification"),
    path(f"{_ONE}/verification/check", Check.as_view(), name="check"),
    path(f"{_ONE}/verification/attempts", Attempts.as_view(), name="attempts"),
    path(f"{_ONE}/verification/attempts/<int:attempt_id>", OneAttempt.as_view(), name="attempt"),
    path(f"{_ONE}/heartbeat", Heartbeat.as_view(), name="heartbeat"),
    path("keys", Keys.as_view(), name="keys"),
    path("keys/<slug:key_id>", OneKey.as_view(), name="key"),
    path("keys/<slug:key_id>/rotate", Rotation.as_view(), name="rotate"),
    path("directory", Directory.as_view(), name="directory"),
    path("directory/<slug:slug>", DirectoryEntry.as_view(), name="entry"),
    path("openapi.json", openapi, name="openapi"),
    path("docs", docs, name="docs"),
]
