"""The directory for everybody, and the panel for operators."""

from django.urls import path

from portal.directory import feeds, views
from portal.panel import keys, listings, watching

app_name = "portal"

urlpatterns = [
    path("coordinators/", views.directory, name="directory"),
    path("coordinators/now", views.directory_part, name="directory-part"),
    path("coordinators/feed.atom", feeds.NewListings(), name="feed"),
    path("coordinators/<slug:slug>/", views.coordinator_page, name="coordinator"),
    path("coordinators/<slug:slug>/now", views.coordinator_part, name="coordinator-part"),
    path("coordinators/<slug:slug>/feed.atom", feeds.Rounds(), name="coordinator-feed"),
    path("coordinators/<slug:slug>/status.json", views.status_json, name="status"),
    path("coordinators/<slug:slug>/badge.svg", views.badge_svg, name="badge"),
    path("coordinators/<slug:slug>/shields.json", views.shields_json, name="shields"),
    path("panel/", listings.home, name="panel"),
    path("panel/new/", listings.new, name="panel-new"),
    path("panel/keys/", keys.keys, name="panel-keys"),
    path("panel/keys/new/", keys.new_key, name="panel-key-new"),
    path("panel/keys/<str:key_id>/rotate/", keys.rotate, name="panel-key-rotate"),
    path("panel/keys/<str:key_id>/revoke/", keys.revoke, name="panel-key-revoke"),
    path("panel/coordinators/<slug:slug>/", listings.overview, name="panel-coordinator"),
    path("panel/coordinators/<slug:slug>/edit/", listings.change, name="panel-edit"),
    path("panel/coordinators/<slug:slug>/submit/", listings.hand_in, name="panel-submit"),
    path("panel/coordinators/<slug:slug>/withdraw/", listings.take_back, name="panel-withdraw"),
    path(
        "panel/coordinators/<slug:slug>/verification/",
        watching.verification,
        name="panel-verification",
    ),
    path("panel/coordinators/<slug:slug>/check/", watching.check_now, name="panel-check"),
    path(
        "panel/coordinators/<slug:slug>/heartbeats/", watching.heartbeats, name="panel-heartbeats"
    ),
    path("panel/coordinators/<slug:slug>/history/", watching.history, name="panel-history"),
]
