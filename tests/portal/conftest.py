import pytest

from accounts.create_admin import create_admin
from accounts.models import User
from portal.models import Coordinator
from tests.portal.making import begin_draft, make_listed


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_user("operator@example.org")


@pytest.fixture
def stranger(db: None) -> User:
    return User.objects.create_user("stranger@example.org")


@pytest.fixture
def admin(db: None) -> User:
    return create_admin("admin@example.org", "a long enough passphrase")


@pytest.fixture
def draft(operator: User) -> Coordinator:
    return begin_draft(operator)


@pytest.fixture
def listed(operator: User, admin: User) -> Coordinator:
    return make_listed(operator, admin)


@pytest.fixture
def draft_of_other(stranger: User) -> Coordinator:
    return begin_draft(stranger, "other")
