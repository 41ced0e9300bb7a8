"""What Prometheus is told of the portal."""

import pytest

from portal.metrics import metrics
from portal.models import Coordinator, Presence
from tests.portal.making import make_listed

pytestmark = pytest.mark.django_db


def test_coordinators_are_counted_by_state_and_the_listed_by_presence(operator, admin):
    make_listed(operator, admin, "one")
    make_listed(operator, admin, "two")
    Coordinator.objects.filter(slug="two").update(presence=Presence.ONLINE)
    states, presences = metrics()
    told = {sample.labels["state"]: sample.value for sample in states.samples}
    assert told["approved"] == 2 and told["draft"] == 0
    told = {sample.labels["presence"]: sample.value for sample in presences.samples}
    assert told == {"never": 1, "online": 1, "late": 0, "offline": 0}
