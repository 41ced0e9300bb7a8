"""A run's address is ``/c/<slug>``: a page for a browser at its root, protocol v1 below it."""

from django.urls import path

from coordination.pages.corpus import corpus_page
from coordination.pages.leaderboard import leaderboard_page
from coordination.pages.views import dashboard_json, live_json, run_page
from coordination.protocol import delivering, evaluating, identifying, leasing, preparing, reading

app_name = "coordination"

urlpatterns = [
    path("<slug:slug>/", run_page, name="run"),
    path("<slug:slug>/siralama", leaderboard_page, name="leaderboard"),
    path("<slug:slug>/derlem", corpus_page, name="corpus"),
    path("<slug:slug>/canli", live_json, name="live"),
    path("<slug:slug>/pano", dashboard_json, name="dashboard"),
    path("<slug:slug>/bilgi", reading.bilgi, name="bilgi"),
    path("<slug:slug>/durum", reading.durum, name="durum"),
    path("<slug:slug>/kayit", identifying.kayit, name="kayit"),
    path("<slug:slug>/makbuz", identifying.makbuz, name="makbuz"),
    path("<slug:slug>/gorev", leasing.gorev, name="gorev"),
    path("<slug:slug>/gorev/<str:token>/nabiz", leasing.nabiz, name="nabiz"),
    path("<slug:slug>/adaptor", reading.adaptor, name="adaptor"),
    path("<slug:slug>/fark", reading.fark, name="fark"),
    path("<slug:slug>/veri", reading.veri, name="veri"),
    path("<slug:slug>/ayrik", evaluating.ayrik, name="ayrik"),
    path("<slug:slug>/aday", evaluating.aday, name="aday"),
    path("<slug:slug>/ham_metin", preparing.ham_metin, name="ham_metin"),
    path("<slug:slug>/belirtec", preparing.belirtec, name="belirtec"),
    path("<slug:slug>/sonuc", delivering.sonuc, name="sonuc"),
    path("<slug:slug>/<path:rest>", reading.unknown),
]
