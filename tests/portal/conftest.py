import pytest

from accounts.create_admin import create_admin
from accounts.models import User
from portal.models import Coordinator


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
    return Coordinator.objects.create(
        operator=operator, name="Demo", slug="demo", address="https://demo.example.org/c/demo"
    )
