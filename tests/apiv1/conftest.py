import pytest
from django.core.cache import cache

from accounts.create_admin import create_admin
from accounts.models import User
from portal.models import Coordinator
from tests.apiv1.calling import Caller, with_key
from tests.portal.making import begin_draft, make_listed


@pytest.fixture(autouse=True)
def no_earlier_requests() -> None:
    """Throttles count in the cache."""
    cache.clear()


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_user("operator@example.org", name="Olga")


@pytest.fixture
def stranger(db: None) -> User:
    return User.objects.create_user("stranger@example.org")


@pytest.fixture
def admin(db: None) -> User:
    return create_admin("admin@example.org", "a long enough passphrase")


@pytest.fixture
def draft(operator: User) -> Coordinator:
    return begin_draft(operator, "draft")


@pytest.fixture
def listed(operator: User, admin: User) -> Coordinator:
    return make_listed(operator, admin, "listed")


@pytest.fixture
def owner(operator: User) -> Caller:
    """The operator, by a key that may do everything."""
    return with_key(operator)
