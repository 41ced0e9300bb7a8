"""A person's own pages beside those of allauth."""

from django.urls import path
from django.views.generic import RedirectView

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="accounts:settings"), name="account"),
    path("settings/", views.settings_page, name="settings"),
    path("data/", views.data_page, name="data"),
    path("data/download/", views.download, name="download"),
    path("delete/", views.delete_page, name="delete"),
]
