"""The directory for everybody, and the panel for operators."""

from django.urls import path

from portal.directory import feeds, views

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
]
