"""Websocket addresses of live pages."""

from django.urls import path

from coordination.live.consumer import LiveConsumer

websocket_urlpatterns = [path("ws/c/<slug:slug>/", LiveConsumer.as_asgi())]
