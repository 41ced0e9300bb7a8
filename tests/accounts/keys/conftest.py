import pytest

from accounts.models import User
from portal.models import Coordinator
from tests.portal.making import begin_draft


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob@example.org")


@pytest.fixture
def coordinator(ada: User) -> Coordinator:
    return begin_draft(ada)
