"""Every address of the site."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from accounts.language import set_language
from modelen_site import health
from modelen_site.experiments import pages as experiments
from modelen_site.home import home
from modelen_site.metrics import metrics
from modelen_site.security_txt import security_txt
from portal.verification.challenge import PATH as VERIFICATION_PATH
from portal.verification.views import verification_file

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home, name="home"),
    path("c/", include("coordination.urls")),
    path("", include("portal.urls")),
    path("experiments/", experiments.experiments, name="experiments"),
    path("experiments/<slug:slug>/", experiments.experiment, name="experiment"),
    path(
        "experiments/<slug:slug>/report.json", experiments.experiment_data, name="experiment-data"
    ),
    path(
        "experiments/<slug:slug>/plots/<slug:name>.svg",
        experiments.experiment_plot,
        name="experiment-plot",
    ),
    path("admin/", admin.site.urls),
    path("accounts/", include("accounts.urls")),
    path("accounts/", include("allauth.urls")),
    path("i18n/setlang/", set_language, name="set_language"),
    path("api/v1/", include("apiv1.urls")),
    path(VERIFICATION_PATH.lstrip("/"), verification_file, name="verification-file"),
    path(".well-known/security.txt", security_txt, name="security-txt"),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
