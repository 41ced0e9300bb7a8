"""The NOT RUN plugin, by running pytest on tests whose needs are missing."""

import pytest

SAMPLE = """
import pytest
@pytest.mark.needs("chromium")
def test_browser(): pass
def test_other(): pass
"""


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    pytester.makeconftest('pytest_plugins = ["tests.needs"]')
    pytester.makepyfile(SAMPLE)
    monkeypatch.delenv("CI", raising=False)
    # Where no browser can be found.
    monkeypatch.setenv("PATH", str(pytester.path))
    return pytester


def run(inner: pytest.Pytester) -> pytest.RunResult:
    return inner.runpytest_inprocess(
        "-p", "no:django", "-p", "no:asyncio", "-p", "no:xdist", "-p", "no:cacheprovider"
    )


def test_a_missing_need_is_not_run_and_says_what_to_install(inner: pytest.Pytester) -> None:
    result = run(inner)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*= NOT RUN =*", "*::test_browser: no chromium, apt-get install chromium", "*1 not run*"]
    )


def test_in_ci_a_missing_need_is_a_failure(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(inner)
    assert result.ret == 1
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*NOT RUN: no chromium, apt-get install chromium"])


def test_in_ci_a_right_that_the_machine_does_not_give_is_not_run(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner.makepyfile('import pytest\n@pytest.mark.needs("namespaces")\ndef test_inside(): pass')
    monkeypatch.setenv("CI", "true")  # and no unshare on the path
    result = run(inner)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*NOT RUN*", "*::test_inside: no namespaces, run the tests as*"])
