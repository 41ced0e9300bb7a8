import pytest

from portal.models import Coordinator
from portal.verification.challenge import commands, judge, line, url
from portal.verification.codes import Code
from tests.portal.verification.wire import HOST

LINE = "modelen-verify=v1 demo " + "t" * 43


def test_what_is_to_be_served_and_where(coordinator: Coordinator) -> None:
    assert line(coordinator) == LINE
    assert url(coordinator) == f"https://{HOST}/.well-known/modelen-verification.txt"


def test_commands_can_be_pasted(coordinator: Coordinator) -> None:
    folder, nginx, curl = (command.text for command in commands(coordinator))
    assert f"'{LINE}' >> .well-known/modelen-verification.txt" in folder
    assert f'return 200 "{LINE}\\n"' in nginx
    assert curl == f"curl -iL {url(coordinator)}"


@pytest.mark.parametrize(
    "body",
    [
        LINE,
        f"{LINE}\n",
        f"  {LINE}\t\r\n",
        f"\ufeff{LINE}\n",
        f"modelen-verify=v1 other {'o' * 43}\n{LINE}\n",
        f"# ours\n\n{LINE}\nmodelen-verify=v1 demo {'u' * 43}\n",
    ],
)
def test_the_line_among_others_is_found(coordinator: Coordinator, body: str) -> None:
    assert judge(body.encode(), coordinator) == Code.OK


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", Code.WRONG_CONTENT),
        (b"t" * 43, Code.WRONG_CONTENT),
        (f"modelen-verify=v1 other {'t' * 43}".encode(), Code.WRONG_CONTENT),
        (f"x{LINE}".encode(), Code.WRONG_CONTENT),
        (LINE.upper().encode(), Code.WRONG_CONTENT),
        (LINE.encode("utf-16"), Code.WRONG_CONTENT),
        (f"<p>{LINE}</p>".encode(), Code.WRONG_CONTENT),
        (b"\xff\xfe\x00" * 99, Code.WRONG_CONTENT),
        (LINE[:-1].encode(), Code.WRONG_TOKEN),
        (f"{LINE}x".encode(), Code.WRONG_TOKEN),
        (b"modelen-verify=v1 demo " + b"u" * 43, Code.WRONG_TOKEN),
    ],
)
def test_anything_else_is_not_it(coordinator: Coordinator, body: bytes, code: Code) -> None:
    assert judge(body, coordinator) == code
