"""What pages and mails of allauth say is Turkish for Turkish readers.

Our own catalogue has a test in tests/coordination/pages/test_catalogues.py.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import allauth
import pytest
from django.utils.translation import gettext, override
from django.utils.translation.template import templatize

PACKAGE = Path(allauth.__file__).parent
SHOWN = ("account", "allauth", "mfa", "socialaccount", "usersessions")
# A name, and a word of a template that is never shown.
SAME_IN_TURKISH = {"WebAuthn", "action"}
# Names of columns in tables that the administration does not show.
NOT_SHOWN = {"uid"}


def said_by_templates() -> Iterator[str]:
    for folder in SHOWN:
        for path in (PACKAGE / "templates" / folder).rglob("*.*"):
            code = templatize(path.read_text("utf-8"))
            for found in re.finditer(r"gettext\(u?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", code):
                yield ast.literal_eval(found[1])


def said_by_code() -> Iterator[str]:
    for folder in SHOWN:
        for path in (PACKAGE / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("_", "gettext"):
                    if node.args and isinstance(node.args[0], ast.Constant):
                        yield str(node.args[0].value)


@pytest.mark.parametrize("said", [said_by_templates, said_by_code])
def test_every_sentence_has_a_turkish_one(said) -> None:
    sentences = set(said()) - {""}
    assert len(sentences) > 50
    with override("tr"):
        same = {sentence for sentence in sentences if gettext(sentence) == sentence}
    assert same - SAME_IN_TURKISH - NOT_SHOWN == set()
