"""What a test found, as a table, as JSON, as JUnit, and as an exit status."""

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from rich.console import Console

from tests.conformance.mutants import Mutant
from tests.conformance.subjects import EXAMPLE, serving
from worker_client.cli.exits import Exit
from worker_client.cli.main import main
from worker_client.conformance.check import Check, Outcome, Result
from worker_client.conformance.report import failed, print_table, to_json, to_junit

CHECK = Check("a-check", "[bold]a <clause>[/] & its words", lambda subject: None)


def outcomes(*results: Result) -> list[Outcome]:
    return [Outcome(CHECK, result, f"seen \x1b[31m{result.value}", 0.5) for result in results]


def test_only_a_failure_fails() -> None:
    assert not failed(outcomes(Result.PASSED, Result.ABSENT, Result.NOT_OBSERVABLE))
    assert failed(outcomes(Result.PASSED, Result.FAILED))


def test_the_table_shows_clauses_as_they_are_and_no_control_characters() -> None:
    console = Console(file=io.StringIO(), width=200)
    print_table(outcomes(*Result), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[bold]a <clause>[/] & its words" in text
    assert "\x1b" not in text
    assert "1 passed, 1 failed, 1 absent, 1 not observable" in text


def test_junit_counts_neither_absent_nor_unseen_as_passed() -> None:
    suite = ET.fromstring(to_junit("http://x", outcomes(*Result)))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [[], ["failure"], ["skipped"], ["skipped"]]


def test_json_has_every_check() -> None:
    told = to_json("http://x", outcomes(*Result))
    assert told["counts"] == {"passed": 1, "failed": 1, "absent": 1, "not observable": 1}
    assert [row["result"] for row in told["checks"]] == [result.value for result in Result]


def test_the_command_succeeds_on_what_is_right(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.xml"
    with serving(EXAMPLE.read_text("utf-8"), run_folder) as url:
        options = ["--only", "file-e*", "--only", "chunk-head", "--json", "--junit", str(report)]
        assert main(["conformance", url, *options]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    found = {row["id"]: row["result"] for row in told["checks"]}
    assert found == {"file-etag": "passed", "chunk-head": "absent"}
    assert len(ET.parse(report).getroot()) == 2


def test_the_command_fails_on_what_is_wrong(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = Mutant("no ETag", "file-etag", '"ETag": etag, ', "")
    with serving(fault.apply(EXAMPLE.read_text("utf-8")), run_folder) as url:
        assert main(["conformance", url, "--only", "file-etag"]) == Exit.FAILED
    captured = capsys.readouterr()
    assert "failed" in captured.out
    assert "failed: file-etag" in captured.err


@pytest.mark.parametrize(
    "arguments",
    [[], ["http://127.0.0.1:9", "--only", "no-such"], ["http://example.org/c/x"], ["nonsense"]],
)
def test_a_wrong_command_line_is_told(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conformance", *arguments]) == Exit.USAGE
    assert capsys.readouterr().err.startswith("error: ")


def test_nobody_there_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "http://127.0.0.1:9", "--only", "version-told"]) == Exit.FAILED


def test_the_list_names_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    from worker_client.conformance.checks import coordinator
    from worker_client.conformance.worker.checks import worker

    for options, registry in (([], coordinator), (["--worker", "x"], worker)):
        assert main(["conformance", "--list", *options]) == Exit.OK
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == [check.id for check in registry.checks]
