"""A report without training: two ways, one of them with 1 and 2 clients."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from modelen_site.experiments.plan import Kind, Setting
from modelen_site.experiments.plots import draw_plots
from modelen_site.experiments.publish import REPORT, publish
from modelen_site.experiments.report import CurvePoint, Report, Row, Verdict

SYNCHRONOUS = Setting(arm="synchronous", kind="synchronous", clients=2, inner_steps=1)


def diloco(clients: int) -> Setting:
    return Setting(
        arm="DiLoCo", kind="diloco", clients=clients, inner_steps=30, up="int4", down="int4"
    )


def make_row(setting: Setting, loss: float, **fields: Any) -> Row:
    tokens = (0, 500_000, 1_000_000)
    curve = [
        CurvePoint(tokens=done, round=done // 100_000, bytes=30.0 * done, loss=loss + extra)
        for done, extra in zip(tokens, (3.0, 0.5, 0.0), strict=True)
    ]
    values: dict[str, Any] = {
        "setting": setting, "lr": 3e-3, "at_edge": False, "seeds": [0, 1],
        "losses": [loss - 0.01, loss + 0.01], "by_language": {"de": loss, "tr": loss}, "loss": loss,
        "spread": 0.014, "rounds": 10, "steps": 30, "tokens": 1_000_000, "up_a_round": 63_000.0,
        "down_a_round": 57_000.0, "total_bytes": 3e7, "shard_bytes": 1e6, "first_bytes": 479_168.0,
        "wire_bytes": None, "screened": 0, "digests": ["ab" * 32, "cd" * 32], "curve": curve,
        "utilisation": {10: 0.5, 50: 0.83, 1000: 0.99}, "tokens_to_target": 600_000.0,
        "seconds_to_target": {10: 7200.0, 50: 3600.0, 1000: 1800.0},
    }  # fmt: skip
    return Row(**values | fields)


def make_report(kind: Kind = "synchronous", **fields: Any) -> Report:
    other = SYNCHRONOUS.model_copy(update={"kind": kind})
    values: dict[str, Any] = {
        "name": "made-up", "title": "Made up", "description": "Nothing was trained.",
        "how": "simulation", "command": "manage.py experiment made-up.toml", "version": "0.1.0",
        "format": "scratch-tiny", "parameters": 119_168, "seq_len": 64, "batch_size": 4,
        "tokens": 1_000_000, "seeds": [0, 1], "learning_rates": [1e-3, 3e-3, 1e-2],
        "languages": ["de", "tr"], "text_source": "catalogues", "text_licence": "free",
        "train_tokens": 2_000_000, "device": "cpu, 1 thread", "dtype": "float32",
        "step_seconds": 0.01, "target_loss": 3.3, "cells": 20, "cells_done": 20, "failures": [],
        "rows": [
            make_row(other, 3.20, total_bytes=3e9), make_row(diloco(1), 3.25),
            make_row(diloco(2), 3.30),
        ],
        "bars": [
            Verdict(title="near", of=diloco(2), against=other, unit="percent", bar=2.5,
                    measured=3.13, met=False, why="Too few rounds."),
            Verdict(title="small", of=diloco(2), against=other, unit="times", bar=90, measured=100,
                    met=True, why=""),
            Verdict(title="unknown", of=diloco(2), against=other, unit="times", bar=90,
                    measured=None, met=None, why=""),
        ],
    }  # fmt: skip
    return Report(**values | fields)


@cache
def _drawn() -> Path:
    """Drawing takes a second or two, so it is done once."""
    folder, report = Path(mkdtemp(prefix="modelen-report-")), make_report()
    (folder / REPORT).write_text(report.model_dump_json(), "utf-8")
    draw_plots(report, folder)
    return folder


def publish_made_up() -> str:
    """Show it on the site of the settings; its name."""
    return publish(_drawn()).name
