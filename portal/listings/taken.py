"""Two listings that want one address or one short name: the database lets the first have it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from portal.listings.errors import Taken
from portal.models import Coordinator


@contextmanager
def noticing_taken(coordinator: Coordinator) -> Iterator[None]:
    """Write the coordinator inside; what the database refuses leaves the transaction usable.

    Raises:
        Taken: another listing has its address or short name.
    """
    slug, pk = coordinator.slug, coordinator.pk
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        others = Coordinator.objects.exclude(pk=pk)
        raise Taken("slug" if others.filter(slug=slug).exists() else "address") from error
