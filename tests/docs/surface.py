"""What the code offers to people: environment variables, commands, options."""

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from rest_framework.exceptions import APIException

from apiv1.middleware import REASONS
from tests.docs.documents import REPO
from worker_client.cli.main import build_parser

PACKAGES = ("accounts", "apiv1", "coordination", "modelen_site", "portal", "worker_client")
READERS = {
    "contacts", "flag", "folder", "get", "getenv", "networks", "number", "pop", "setdefault",
    "token", "words",
}  # fmt: skip
# Django's own way of finding the settings; manage.py and the demo set it, people do not.
NOT_FOR_PEOPLE = {"DJANGO_SETTINGS_MODULE"}
# Where the code stands among the arguments of our errors.
ERRORS_WITH_CODES = {"Problem": 1, "AuthenticationFailed": 1}
# Errors without a code of their own, and one that our negotiation never comes to.
NEVER_ANSWERED = {"error", "authentication_failed", "not_acceptable"}
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


@cache
def environment_variables() -> dict[str, str]:
    """Every environment variable that the code reads or sets, and a file that does."""
    found = {}
    for package in PACKAGES:
        for path in sorted((REPO / package).rglob("*.py")):
            for name in _variables(ast.parse(path.read_text("utf-8"))):
                found[name] = str(path.relative_to(REPO))
    return {name: where for name, where in found.items() if name not in NOT_FOR_PEOPLE}


def _variables(tree: ast.Module) -> Iterator[str]:
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        name = _name_in(node)
        value = constants.get(name.id) if isinstance(name, ast.Name) else _constant(name)
        if isinstance(value, str) and _VARIABLE.fullmatch(value):
            yield value


def _name_in(node: ast.AST) -> ast.AST | None:
    """What stands where a variable's name does: ``environ["X"]``, ``environment.flag("X")``."""
    if isinstance(node, ast.Subscript) and "environ" in ast.unparse(node.value):
        return node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr in READERS and "environ" in ast.unparse(node.func.value):
            return node.args[0]
    return None


def _constant(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


@cache
def problem_codes() -> set[str]:
    """Codes of the Portal API's problems: those our code names, and those of what DRF refuses."""
    found = {kind.default_code for kind in APIException.__subclasses__()} - NEVER_ANSWERED
    found |= {code for code, _detail in REASONS.values()}
    for path in sorted((REPO / "apiv1").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ERRORS_WITH_CODES:
                code = _constant(node.args[ERRORS_WITH_CODES[ast.unparse(node.func)]])
                found |= {code} if isinstance(code, str) else set()
    return found


@cache
def management_commands() -> dict[str, BaseCommand]:
    """Ours, by name."""
    ours = {name: app for name, app in get_commands().items() if app in PACKAGES}
    return {name: load_command_class(app, name) for name, app in sorted(ours.items())}


def own_options(name: str, command: BaseCommand) -> set[str]:
    """A command's options without those that every command of Django's has."""
    common = _options(BaseCommand().create_parser("manage.py", name))
    return _options(command.create_parser("manage.py", name)) - common


def worker_commands() -> dict[str, set[str]]:
    """``models fetch`` and the like, each with its options."""
    return dict(_commands(build_parser(), ""))


def _commands(parser: argparse.ArgumentParser, prefix: str) -> Iterator[tuple[str, set[str]]]:
    choices = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not choices:
        yield prefix.strip(), _options(parser) - {"--help"}
    for action in choices:
        for name, child in action.choices.items():
            yield from _commands(child, f"{prefix} {name}")


def _options(parser: argparse.ArgumentParser) -> set[str]:
    options = {option for action in parser._actions for option in action.option_strings}
    return {option for option in options if option.startswith("--")}


def top_level_folders() -> set[str]:
    """Folders of the checkout that hold sources."""
    ignored = {line.strip("/\n") for line in (REPO / ".gitignore").open() if line.strip()}
    names = {path.name for path in Path(REPO).iterdir() if path.is_dir()}
    return {name for name in names - ignored - {".git"} if any((REPO / name).iterdir())}
