"""Atom feeds: what is new in the directory, and the rounds of one coordinator."""

from datetime import datetime
from typing import Any

from django.contrib.syndication.views import Feed
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.models import Coordinator, CoordinatorQuerySet, LossPoint

ENTRIES = 30


class NewListings(Feed):
    feed_type = Atom1Feed
    title = gettext_lazy("New coordinators")
    subtitle = gettext_lazy("Coordinators that have joined the directory.")

    def link(self) -> str:
        return reverse("portal:directory")

    def items(self) -> CoordinatorQuerySet:
        return Coordinator.objects.listed().order_by("-approved_at", "-id")[:ENTRIES]

    def item_title(self, item: Any) -> str:
        return item.name

    def item_description(self, item: Any) -> str:
        return item.description

    def item_pubdate(self, item: Any) -> datetime:
        return item.approved_at

    def item_updateddate(self, item: Any) -> datetime:
        return item.approved_at


class Rounds(Feed):
    """The losses that a coordinator told, newest round first."""

    feed_type = Atom1Feed

    def get_object(self, request: HttpRequest, slug: str) -> Coordinator:
        return get_object_or_404(Coordinator.objects.listed(), slug=slug)

    def title(self, obj: Coordinator) -> str:
        return obj.name

    def link(self, obj: Coordinator) -> str:
        return obj.get_absolute_url()

    def subtitle(self, obj: Coordinator) -> str:
        return obj.description

    def items(self, obj: Coordinator) -> list[LossPoint]:
        points = obj.loss_points.order_by("-round").select_related("coordinator")
        return list(points[:ENTRIES])

    def item_title(self, item: Any) -> str:
        told = {"round": item.round, "loss": f"{item.loss:.4f}"}
        return _("Round %(round)s: loss %(loss)s") % told

    def item_description(self, item: Any) -> str:
        return _("In nats per token; lower is better.")

    def item_link(self, item: Any) -> str:
        return f"{item.coordinator.get_absolute_url()}#round-{item.round}"

    def item_pubdate(self, item: Any) -> datetime:
        return item.told_at

    def item_updateddate(self, item: Any) -> datetime:
        return item.told_at
