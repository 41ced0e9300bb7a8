"""Websocket addresses of the directory."""

from django.urls import path

from portal.live.consumer import CoordinatorConsumer

websocket_urlpatterns = [path("ws/coordinators/<slug:slug>/", CoordinatorConsumer.as_asgi())]
