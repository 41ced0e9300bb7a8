"""Fuzz target: the contract's messages, held to the protocol's ranges as written down once more."""

import json
import random
import re
from typing import Any

from pydantic import ValidationError

from tests.fuzzing.messages import mutated
from tests.fuzzing.running import Wrong
from worker_client.contract import wire

SHA = "0123456789abcdef" * 4
FILE = {"yol": "/adaptor?tur=1", "sha256": SHA, "boyut": 33_000, "parca_boyut": 65_536}
TASK: dict[str, Any] = {
    "gorev": "abc_DEF-1",
    "anahtar": "f" * 64,
    "is": "egit",
    "tur": 1,
    "tur_sayisi": 3,
    "ic_adim": 20,
    "bs": 4,
    "seq": 64,
    "lr": 0.001,
    "tohum": 7,
    "parca": 0,
    "n_parca": 2,
    "mod": "cpt",
    "bicim": "tiny-qwen3-lora-r4",
    "recete": "v1",
    "taban_model": "modelen/tiny-qwen3@seed-0",
    "kodlama": "ham",
    "sure": 600,
    "son": "2030-01-01T00:00:00Z",
    "adaptor": FILE,
    "veri": FILE | {"yol": "/veri?parca=0"},
}
UPDATE = FILE | {"yol": "/fark?tur=2", "tur": 1, "kodlama": "int8"}
CAUGHT_UP = TASK | {"tur": 2, "fark": UPDATE}
OF_LEASES = ("gorev", "anahtar", "is", "sure", "son")
TARGET = {name: value for name, value in TASK.items() if name not in OF_LEASES}
REPETITION = TASK | {"is": "dogrula", "hedef": TARGET}
ABOUT: dict[str, Any] = {
    "protokol": 1,
    "ad": "tr",
    "bicim": "tiny-qwen3-lora-r4",
    "mod": "cpt",
    "tur": 1,
    "tur_sayisi": 3,
    "ic_adim": 20,
    "seq": 64,
    "n_parca": 2,
    "kodlama": ["ham"],
}
STATUS: dict[str, Any] = {
    "durum": "acik",
    "tur": 2,
    "tur_sayisi": 3,
    "isci_sayisi": 1,
    "gorev": {"bos": 1, "kirada": 0, "tamam": 1},
    "sonuc": {"kabul": 1, "ret": 0, "elenen": 0},
    "gecmis": [{"tur": 1, "kayip": 2.5, "kabul": 2, "elenen": 0, "sure_s": 1.5, "sha256": SHA}],
}
PROGRESS = {"anahtar": "f" * 64, "adim": 3, "kayip": 2.5, "ozet": SHA}
PROGRESS_ANSWER = {"devam": True, "sure": 600, "son": "2030-01-01T00:00:00Z"}
VERDICT = {"kabul": True, "gorev": "abc_DEF-1", "tur": 1, "sha256": SHA}
FATE = {"durum": "birlesti", "kod": None, "agirlik": 0.5}
UPLOAD_STATE = {"ofset": 0, "parca_boyut": 65_536}
LEASE_REQUEST: dict[str, Any] = {
    "isci": "ada",
    "istek": "0" * 32,
    "kodlama": ["ham"],
    "isler": ["egit"],
    "elde": 1,
    "cihaz": {"ad": "cpu", "cekirdek": 2},
}
PROBLEM = {"type": "about:blank", "title": "x", "status": 503, "detail": "y", "kod": "mesgul"}
REGISTRATION = {"isci": "ada", "belirtec": "mwk_" + "a" * 43, "liste": True}
RECEIPT = {
    "gorev": "abc_DEF-1",
    "is": "egit",
    "tur": 1,
    "parca": 0,
    "sha256": SHA,
    "boyut": 33_000,
    "durum": "ret",
    "kod": "sonlu_degil",
    "token": 64,
    "kayip": 2.5,
    "zaman": "2030-01-01T00:00:00Z",
}
RECEIPTS: dict[str, Any] = {"isci": "ada", "makbuz": [RECEIPT], "once": 7, "sira": 3}
EXAMPLES: tuple[tuple[type[wire.Message], dict[str, Any]], ...] = (
    (wire.Task, TASK),
    (wire.Task, CAUGHT_UP),
    (wire.Task, REPETITION),
    (wire.About, ABOUT),
    (wire.Status, STATUS),
    (wire.Progress, PROGRESS),
    (wire.ProgressAnswer, PROGRESS_ANSWER),
    (wire.Verdict, VERDICT),
    (wire.Fate, FATE),
    (wire.UploadState, UPLOAD_STATE),
    (wire.LeaseRequest, LEASE_REQUEST),
    (wire.Problem, PROBLEM),
    (wire.Registration, REGISTRATION),
    (wire.RegistrationAnswer, {"durum": "onayli"}),
    (wire.Receipts, RECEIPTS),
)


class Wires:
    """Parsing raises nothing but ValidationError, and takes a task if and only if it is right."""

    name = "messages"

    def play(self, draw: random.Random) -> str:
        kind, example = draw.choice(EXAMPLES)
        body = mutated(example, draw)
        try:
            message = kind.model_validate_json(body)
        except ValidationError as error:
            wire.explain(error)
            if kind is wire.Task and is_plainly_right(body):
                raise Wrong(f"a right task was refused: {wire.explain(error)}") from None
            return "refused"
        wired = message.to_wire()
        if isinstance(message, wire.Task) and (fault := fault_of_task(wired)):
            raise Wrong(f"a task was taken whose {fault}")
        if kind.model_validate_json(json.dumps(wired)) != message:
            raise Wrong(f"a {kind.__name__} is another one after a round trip")
        return "taken"


def is_plainly_right(body: bytes) -> bool:
    """Whether no reader could doubt that this is a task within the protocol's ranges."""
    try:
        text = body.decode("utf-8")
        task = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if "\\ud" in text or "NaN" in text or "Infinity" in text or not isinstance(task, dict):
        return False
    return task.get("son") == TASK["son"] and not fault_of_task(task)


# --- docs/protocol-v1.md, once more ---------------------------------------------------------------

RANGES = {
    "tur": (1, 10**6 + 1),
    "tur_sayisi": (1, 10**6),
    "ic_adim": (1, 10_000),
    "bs": (1, 1024),
    "seq": (8, 8192),
    "tohum": (0, 2**53 - 1),
    "parca": (0, 10**6 - 1),
    "n_parca": (1, 10**6),
    "sure": (5, 30 * 86_400),
}
PATTERNS = {
    "gorev": r"[A-Za-z0-9_-]{1,64}",
    "anahtar": r"[!-~]{16,256}",
    "bicim": r"[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}",
    "recete": r"[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}",
    "taban_model": r"[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}",
    "kodlama": r"(?s).{0,300}",
}
CHOICES = {"is": ("egit", "olc", "dogrula", "on_isle"), "mod": ("cpt", "sft")}
OPTIONAL = {"is", "recete", "kodlama", "veri", "taban_model"}
MAY_BE_NULL = {"veri", "taban_model"}


def fault_of_task(task: dict[str, Any]) -> str:
    """The first field that breaks the protocol, or nothing."""
    target = task.get("hedef")
    if (task.get("is") == "dogrula") != (target is not None):
        return "hedef does not go with its job"
    if target is not None and not isinstance(target, dict):
        return "hedef is no object"
    if target is not None and (fault := _fault(target, OF_LEASES)):
        return f"hedef: {fault}"
    update = task.get("fark")
    if update is not None and not _is_update(update):
        return f"fark is {update!r}"
    return _fault(task)


def _fault(task: dict[str, Any], without: tuple[str, ...] = ()) -> str:
    for name in (*RANGES, *PATTERNS, *CHOICES, "lr", "son", "adaptor", "veri"):
        if name in without:
            continue
        if name not in task:
            if name not in OPTIONAL:
                return f"{name} is missing"
        elif not (task[name] is None and name in MAY_BE_NULL or _is_right(name, task[name])):
            return f"{name} is {task[name]!r}"
    if task["tur"] > task["tur_sayisi"] or task["parca"] >= task["n_parca"]:
        return "numbers contradict each other"
    many = task["bs"] * task["seq"] * task["ic_adim"]
    return "work is above 2^32 tokens" if many > 2**32 else ""


def _is_right(name: str, value: Any) -> bool:
    if name in RANGES:
        return _is_within(value, *RANGES[name])
    if name in PATTERNS:
        return isinstance(value, str) and re.fullmatch(PATTERNS[name], value) is not None
    if name in CHOICES:
        return value in CHOICES[name] and isinstance(value, str)
    if name == "lr":
        return type(value) in (int, float) and 0 < value <= 1
    return isinstance(value, str) if name == "son" else _is_file(value)


def _is_within(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_file(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    sha256, path = value.get("sha256"), value.get("yol")
    return (
        isinstance(sha256, str)
        and re.fullmatch("[0-9a-f]{64}", sha256) is not None
        and isinstance(path, str)
        and is_path(path)
        and _is_within(value.get("boyut"), 1, 64 * 2**30)
        and _is_within(value.get("parca_boyut", 2**20), 64 * 1024, 8 * 2**20)
    )


def _is_update(value: Any) -> bool:
    if not _is_file(value) or not _is_within(value.get("tur"), *RANGES["tur"]):
        return False
    return "kodlama" in value and _is_right("kodlama", value["kodlama"])


def is_path(path: str) -> bool:
    """One leading slash, printable ASCII, and no way up or out, percent-encoded or not."""
    plain = re.sub("%([0-9a-fA-F]{2})", lambda hexadecimal: chr(int(hexadecimal[1], 16)), path)
    if not re.fullmatch(r"/[!-~ ]*", path) or len(path) > 2000:
        return False
    for text in (path, plain):
        if text.startswith("//") or ".." in text or re.search(r"[\\#@\x00-\x1f\x7f]", text):
            return False
    return True
