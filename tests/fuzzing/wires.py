"""Fuzz target: the contract's messages, held to the protocol's ranges as written down once more."""

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import ValidationError

from tests.fuzzing import rules
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
SNAPSHOT: dict[str, Any] = {"adaptor": FILE}
RESULT = {"sonuc": FILE | {"yol": "/aday?gorev=abc_DEF-1"}, "kodlama": "vektor"}
ON_SHARD = {"veri": FILE | {"yol": "/veri?parca=1"}, "parca": 1}
CANDIDATES = [SNAPSHOT, SNAPSHOT | RESULT, SNAPSHOT | ON_SHARD, SNAPSHOT | RESULT | ON_SHARD]
MEASUREMENT = TASK | {"is": "olc", "aday": CANDIDATES}
PREPARATION = {name: value for name, value in TASK.items() if name not in ("adaptor", "veri")} | {
    "is": "on_isle",
    "ham_metin": FILE | {"yol": "/ham_metin?gorev=abc_DEF-1"},
    "belirtec": FILE | {"yol": "/belirtec?gorev=abc_DEF-1"},
    "temizlik": "v1",
    "diller": ["en", "tr"],
}
EVALUATION: dict[str, Any] = {
    "kayip": [2.5, 2.25, 3, 2.75],
    "token": 60,
    "bayt": 60,
    "sure_s": 1.5,
    "cihaz": "cpu",
    "dtype": "float32",
    "surum": "1",
}
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
    "hazirlik": {"toplam": 3, "tamam": 1},
    "olcum": [{"surum": 2, "dil": "tr", "kayip": 2.5, "bit_bayt": 3.6}],
}
ANNOUNCEMENT = {"boyut": 33_000, "sha256": SHA}
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
    (wire.Task, MEASUREMENT),
    (wire.Task, PREPARATION),
    (wire.Evaluation, EVALUATION),
    (wire.Announcement, ANNOUNCEMENT),
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


Judge = Callable[[rules.Message], str]
# What a message's first fault is, in the protocol's words.
JUDGES: dict[type[wire.Message], Judge] = {
    wire.Task: rules.fault_of_task,
    **{
        kind: partial(rules.fault, fields=fields)
        for kind, fields in (
            (wire.Evaluation, rules.EVALUATION),
            (wire.Announcement, rules.ANNOUNCEMENT),
            (wire.Status, rules.STATUS),
            (wire.Progress, rules.PROGRESS),
            (wire.ProgressAnswer, rules.PROGRESS_ANSWER),
            (wire.Verdict, rules.VERDICT),
            (wire.Fate, rules.FATE),
            (wire.UploadState, rules.UPLOAD_STATE),
            (wire.LeaseRequest, rules.LEASE_REQUEST),
            (wire.Registration, rules.REGISTRATION),
            (wire.Receipts, rules.RECEIPTS),
        )
    },
}
# Those of which every right one has to be taken.
WHOLE = (wire.Task, wire.Evaluation, wire.Announcement)


class Wires:
    """Parsing raises nothing but ValidationError, takes nothing that is wrong, and refuses no task,
    measurement or announcement that is right."""

    name = "messages"

    def play(self, draw: random.Random) -> str:
        kind, example = draw.choice(EXAMPLES)
        body = mutated(example, draw)
        try:
            message = kind.model_validate_json(body)
        except ValidationError as error:
            wire.explain(error)
            if kind in WHOLE and is_plainly_right(body, kind):
                raise Wrong(f"a right {kind.__name__} was refused: {wire.explain(error)}") from None
            return "refused"
        wired = message.to_wire()
        if kind in JUDGES and (fault := JUDGES[kind](wired)):
            raise Wrong(f"a {kind.__name__} was taken whose {fault}")
        if kind.model_validate_json(json.dumps(wired)) != message:
            raise Wrong(f"a {kind.__name__} is another one after a round trip")
        return "taken"


def is_plainly_right(body: bytes, kind: type[wire.Message]) -> bool:
    """Whether no reader could doubt that this is such a message within the protocol's ranges."""
    message = plain(body)
    if message is None or JUDGES[kind](message):
        return False
    return kind is not wire.Task or message["son"] == TASK["son"]


def plain(body: bytes) -> dict[str, Any] | None:
    """The object in ``body``, if every reader of JSON finds the same one."""
    try:
        found = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not is_doubtful(body) else None


def is_doubtful(body: bytes) -> bool:
    """Whether some readers of JSON take what others refuse."""
    return any(mark in body for mark in (b"\\ud", b"NaN", b"Infinity"))
