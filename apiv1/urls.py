from django.urls import path

from apiv1 import views

app_name = "apiv1"
urlpatterns = [path("directory", views.Directory.as_view(), name="directory")]
