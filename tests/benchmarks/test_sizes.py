"""What the benchmark of sizes reads and what it demands; the rest of it is a whole swarm."""

from dataclasses import replace

import pytest

from benchmarks.sizes import SIZES, Outcome, bars_of, first_lines, main

SMALL = SIZES["s"]
GOOD = Outcome(
    format="scratch-s",
    parameters=1,
    steps=200,
    tokens=1,
    loss_first=10.8,
    loss_last=8.0,
    wall_s=1.0,
    train_s=1.0,
    bytes_down=1,
    bytes_up=1,
    worker_bytes=1,
    server_bytes=2,
    server_idle_bytes=1,
    published=4,
)


def test_whole_lines_are_taken_up_to_a_size(tmp_path):
    path = tmp_path / "en.jsonl"
    path.write_bytes(b"one\ntwo\nthree\n")
    assert list(first_lines(path, 9)) == [b"one\n", b"two\n"]


@pytest.mark.parametrize(
    "change", [{"loss_last": 9.0}, {"published": 3}, {"server_bytes": 10**9}], ids=str
)
def test_each_bar_can_be_missed(change):
    assert all(bar.met for bar in bars_of(SMALL, GOOD))
    assert sum(not bar.met for bar in bars_of(SMALL, replace(GOOD, **change))) == 1


def test_without_text_nothing_is_measured(tmp_path, capsys):
    assert main(["--texts", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("NOT MEASURED")


def test_an_unknown_size_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--sizes", "s,x"])
    assert "no size x; there are s, m, l" in capsys.readouterr().err
