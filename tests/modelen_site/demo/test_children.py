import os
import subprocess
import time
from pathlib import Path

import pytest

from modelen_site.demo.children import Child, Children, Lines
from modelen_site.demo.plan import DemoFailed


def _wait(child: Child) -> None:
    child.process.wait(30)


def test_a_child_that_fails_is_named_with_its_last_words(tmp_path: Path) -> None:
    with Children(tmp_path) as children:
        child = children.start("server", "-c", "print('first'); raise SystemExit('port is taken')")
        _wait(child)

        with pytest.raises(DemoFailed, match="server ended with status 1: port is taken"):
            child.demand_running()


def test_a_child_that_ends_well_has_ended_but_was_to_run(tmp_path: Path) -> None:
    with Children(tmp_path) as children:
        child = children.start("worker", "-c", "pass")
        _wait(child)

        assert child.ended
        with pytest.raises(DemoFailed, match="worker ended before the demo"):
            child.demand_running()


def test_none_outlives_the_block_whatever_ends_it(tmp_path: Path) -> None:
    sleep = "import time; time.sleep(600)"
    with pytest.raises(KeyboardInterrupt), Children(tmp_path) as children:
        started = [children.start(f"child-{n}", "-c", sleep) for n in range(2)]
        raise KeyboardInterrupt

    assert all(child.process.returncode is not None for child in started)


def test_ctrl_c_of_the_terminal_does_not_reach_them(tmp_path: Path) -> None:
    with Children(tmp_path) as children:
        child = children.start("child", "-c", "import time; time.sleep(600)")

        assert os.getsid(child.process.pid) != os.getsid(0)


def test_objects_of_several_children_arrive_with_their_names(tmp_path: Path) -> None:
    code = "import json; print(json.dumps({'step': 1})); print(json.dumps({'step': 2}))"
    lines = Lines()
    with Children(tmp_path) as children:
        for name in ("one", "two"):
            child = children.start(name, "-c", code, stdout=subprocess.PIPE)
            assert child.process.stdout is not None
            lines.follow(name, child.process.stdout)
        lines.finish()

    arrived = list(lines.arrived(timeout=0))
    assert [found for name, found in arrived if name == "one"] == [{"step": 1}, {"step": 2}]
    assert len(arrived) == 4


def test_waiting_for_lines_ends(tmp_path: Path) -> None:
    started = time.monotonic()

    assert list(Lines().arrived(timeout=0.05)) == []
    assert time.monotonic() - started >= 0.05
