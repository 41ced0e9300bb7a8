"""Every command of the documentation runs, as it stands there."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.documents import Document, all_documents, document
from tests.docs.following import Outcome, follow, make_checkout
from tests.e2e.site import Site

pytestmark = pytest.mark.needs("curl")

# The operator makes the run that these work on or look at.
ON_A_RUN = {"volunteer.md", "visitor.md", "protocol-v1.md", "conformance.md"}
WITH_COMMANDS = [
    page.name for page in all_documents() if any(block.language == "sh" for block in page.blocks)
]

Follow = Callable[[str], Outcome]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(make_checkout(tmp_path_factory.mktemp("checkout"))) as site:
        site.start()
        yield site


@pytest.fixture(scope="module")
def followed(site: Site) -> Follow:
    """Follow a document once, after those it builds on; its commands must succeed."""

    @cache
    def outcome(name: str) -> Outcome:
        return follow(document(name), site)

    def succeed(name: str) -> Outcome:
        for page in ["operator.md", name] if name in ON_A_RUN else [name]:
            done = outcome(page)
            assert done.status == 0, done.said
        return done

    return succeed


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_run(followed: Follow, name: str) -> None:
    followed(name)


def test_operator_gets_an_adapter_and_a_score(followed: Follow, site: Site) -> None:
    said = followed("operator.md").said
    assert (site.folder / "adapter" / "adapter_config.json").is_file()
    assert "bits per byte" in said
    assert site.status("tr-wiki")["durum"] == "acik"


def test_volunteer_delivers_a_result(followed: Follow, site: Site) -> None:
    followed("volunteer.md")
    delivered = "SELECT COUNT(*) FROM coordination_result WHERE state IN ('waiting', 'merged')"
    assert site.rows(delivered)[0][0] >= 1


def test_worked_example_ends_with_a_taken_result(followed: Follow) -> None:
    last = followed("protocol-v1.md").said.strip().splitlines()[-1]
    assert json.loads(last[last.rindex("{") :])["durum"] in ("bekliyor", "birlesti")


def test_admin_can_sign_in(followed: Follow, site: Site) -> None:
    followed("admin.md")
    assert site.rows("SELECT is_superuser FROM accounts_user WHERE email = 'ada@example.org'")


def test_failure_names_document_and_line(site: Site, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```sh\nHERE=a\n```\n\n```sh\n[ $HERE = b ]\necho unreached\n```\n")
    done = follow(Document(page), site)
    assert done.status == 1
    assert "FAILED page.md:7" in done.said and "unreached" not in done.said


@pytest.mark.parametrize("command", ["make no-such-target", "curl -s https://example.org/none"])
def test_what_is_not_there_is_a_failure(site: Site, tmp_path: Path, command: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```sh\n{command}\n```\n")
    assert "FAILED page.md:1" in follow(Document(page), site).said
