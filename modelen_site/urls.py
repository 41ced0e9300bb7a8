"""Every address of the site."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from coordination.pages.views import home
from modelen_site import health
from portal.verification.challenge import PATH as VERIFICATION_PATH
from portal.verification.views import verification_file

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home, name="home"),
    path("c/", include("coordination.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/v1/", include("apiv1.urls")),
    path(VERIFICATION_PATH.lstrip("/"), verification_file, name="verification-file"),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
]
