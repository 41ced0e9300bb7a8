"""What the code offers is documented, and what is documented exists."""

import re
from enum import Enum
from functools import cache

import pytest
from pydantic import BaseModel

from accounts.keys import format
from accounts.keys.scopes import Scope
from tests.docs import surface
from tests.docs.documents import REPO, all_documents, document
from worker_client.contract import errors, wire

WIRE_ENUMS = (wire.Job, wire.Mode, wire.RunState, wire.ResultFate)
MESSAGES = [
    kind
    for kind in vars(wire).values()
    if isinstance(kind, type) and issubclass(kind, wire.Message) and kind is not wire.Message
]


@cache
def code_words(name: str) -> set[str]:
    """The words in a document's `code` and in its blocks."""
    text = document(name).text
    spans = [*re.findall(r"`([^`\n]+)`", text), *(b.text for b in document(name).blocks)]
    return {word for span in spans for word in re.findall(r"[\w-]+", span)}


def settings_tables() -> set[str]:
    """Variables in the first column of settings.md's tables."""
    return set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", document("settings.md").text, re.M))


@pytest.mark.parametrize(
    ("variable", "file"), sorted(surface.environment_variables().items()), ids=str
)
def test_environment_variable_is_explained(variable: str, file: str) -> None:
    assert variable in code_words("settings.md"), f"{file} reads {variable}; explain it"


def test_no_variable_is_explained_that_nobody_reads() -> None:
    makefile = (REPO / "Makefile").read_text("utf-8")
    in_makefile = set(re.findall(r"^([A-Z_]+) \?=", makefile, re.M))
    assert settings_tables() - set(surface.environment_variables()) == in_makefile


def test_reading_of_variables_is_noticed() -> None:
    """The search itself: through our helpers, os.environ, and a constant."""
    expected = {"MODELEN_DEBUG", "DATABASE_URL", "MODELEN_STATE_DIR", "MODELEN_MODELS_DIR"}
    assert expected <= set(surface.environment_variables())


@pytest.mark.parametrize("name", surface.management_commands())
def test_management_command_is_explained(name: str) -> None:
    pages = ("operator.md", "admin.md", "settings.md", "portal-api.md", "experiments.md")
    words = set().union(*map(code_words, pages))
    options = surface.own_options(name, surface.management_commands()[name])
    assert {name, *options} <= words


@pytest.mark.parametrize("command", surface.worker_commands())
def test_worker_command_is_explained(command: str) -> None:
    options = surface.worker_commands()[command]
    text = document("settings.md").text
    assert re.search(rf"`{command}\b", text), f"settings.md does not mention {command}"
    assert options <= code_words("settings.md")


def test_every_refusal_is_in_the_protocol() -> None:
    codes = {refusal.code for refusal in errors.Refusal}
    assert codes - code_words("protocol-v1.md") == set()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_wire_name_is_in_the_protocol(message: type[BaseModel]) -> None:
    names = {field.alias or name for name, field in message.model_fields.items()}
    assert names - code_words("protocol-v1.md") == set()


@pytest.mark.parametrize("values", WIRE_ENUMS, ids=lambda kind: kind.__name__)
def test_every_wire_value_is_in_the_protocol(values: type[Enum]) -> None:
    assert {member.value for member in values} - code_words("protocol-v1.md") == set()


def test_readme_says_what_every_folder_is_for() -> None:
    named = set(re.findall(r"`([\w.]+)/", document("README.md").text))
    assert surface.top_level_folders() - named == set()


def test_readme_is_short() -> None:
    assert len(document("README.md").text.splitlines()) <= 150


@pytest.mark.parametrize("page", all_documents(), ids=lambda page: page.name)
def test_links_lead_somewhere(page) -> None:
    for line, target in page.links:
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        found = (page.path.parent / path).resolve() if path else page.path
        assert found.exists(), f"{page.name}:{line} leads to {target}, which does not exist"
        if anchor:
            assert anchor in document(found.name).anchors, f"{page.name}:{line}: no {target}"


@pytest.mark.parametrize("page", all_documents(), ids=lambda page: page.name)
def test_files_named_in_prose_exist(page) -> None:
    """`coordination/rounds/` and the like; what has a placeholder is not ours to find."""
    tops = surface.top_level_folders()
    for line, text in page.prose:
        for name in re.findall(r"`([\w.-]+/[\w./-]*)`", text):
            if name.split("/")[0] in tops:
                assert (REPO / name).exists(), f"{page.name}:{line} names {name}"


def test_every_code_of_the_portal_api_is_explained() -> None:
    assert surface.problem_codes() - code_words("portal-api.md") == set()


def test_every_scope_is_explained() -> None:
    scopes = set(re.findall(r"^\| `([a-z:]+)` \|", document("portal-api.md").text, re.M))
    assert scopes == set(Scope.values)


def test_the_published_shape_of_a_key_is_the_code_s() -> None:
    for name in ("portal-api.md", "SECURITY.md"):
        [shape] = set(re.findall(r"`(mdl_\[.*?\}?)`", document(name).text))
        assert re.fullmatch(shape, format.make())
        assert not re.fullmatch(shape, format.make() + "x")
