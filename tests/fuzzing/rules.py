"""docs/protocol-v1.md, once more: which field of which message may be what.

Shares no code with the contract that is held to it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Rule = Callable[[Any], bool]
Message = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """``needed``: it has to be there; ``nullable``: null is as good as nothing."""

    is_right: Rule
    needed: bool = True
    nullable: bool = False


def may(rule: Rule) -> Field:
    return Field(rule, needed=False)


def may_be_null(rule: Rule) -> Field:
    return Field(rule, needed=False, nullable=True)


def fault(message: Message, fields: Mapping[str, Field]) -> str:
    """The first field that breaks the protocol, or nothing."""
    for name, field in fields.items():
        if name not in message:
            if field.needed:
                return f"{name} is missing"
        elif message[name] is None and field.nullable:
            continue
        elif not field.is_right(message[name]):
            return f"{name} is {message[name]!r}"
    return ""


# --- Values ---------------------------------------------------------------------------------------


def whole(low: int, high: int) -> Rule:
    return lambda value: type(value) is int and low <= value <= high


def number(low: float, high: float) -> Rule:
    return lambda value: type(value) in (int, float) and low <= value <= high


def text(pattern: str) -> Rule:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def one_of(*words: str) -> Rule:
    return lambda value: isinstance(value, str) and value in words


def list_of(is_right: Rule, low: int = 0, high: int = 10**6) -> Rule:
    return lambda value: (
        isinstance(value, list) and low <= len(value) <= high and all(map(is_right, value))
    )


def object_of(fields: Mapping[str, Field]) -> Rule:
    return lambda value: isinstance(value, dict) and not fault(value, fields)


def is_path(path: str) -> bool:
    """One leading slash, printable ASCII, and no way up or out, percent-encoded or not."""
    plain = re.sub("%([0-9a-fA-F]{2})", lambda hexadecimal: chr(int(hexadecimal[1], 16)), path)
    if not re.fullmatch(r"/[!-~ ]*", path) or len(path) > 2000:
        return False
    for form in (path, plain):
        if form.startswith("//") or ".." in form or re.search(r"[\\#@\x00-\x1f\x7f]", form):
            return False
    return True


def is_bool(value: Any) -> bool:
    return isinstance(value, bool)


any_number = number(-1e308, 1e308)
count = whole(0, 2**53 - 1)
round_number = whole(1, 10**6 + 1)
rounds = whole(1, 10**6)
shard = whole(0, 10**6 - 1)
loss = number(0, 1e6)
digest = text("[0-9a-f]{64}")
worker_name = text("[a-z0-9_-]{3,32}")
token = text("mwk_[A-Za-z0-9_-]{32,128}")
lease_id = text("[A-Za-z0-9_-]{1,64}")
lease_key = text("[!-~]{16,256}")
identifier = text("[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}")
short_text = text("(?s).{0,300}")
some_text = text("(?s).*")
fate = one_of("bekliyor", "birlesti", "elendi", "denetlenemedi", "ret", "kullanildi")

# --- Messages -------------------------------------------------------------------------------------

FILE = {
    "yol": Field(lambda value: isinstance(value, str) and is_path(value)),
    "sha256": Field(digest),
    "boyut": Field(whole(1, 64 * 2**30)),
    "parca_boyut": may(whole(64 * 1024, 8 * 2**20)),
}
is_file = object_of(FILE)
UPDATE = FILE | {"tur": Field(round_number), "kodlama": Field(short_text)}
CANDIDATE = {
    "adaptor": Field(is_file),
    "sonuc": may_be_null(is_file),
    "kodlama": may(short_text),
    "veri": may_be_null(is_file),
    "parca": may_be_null(shard),
}
TRAINING = {
    "tur": Field(round_number),
    "tur_sayisi": Field(rounds),
    "ic_adim": Field(whole(1, 10_000)),
    "bs": Field(whole(1, 1024)),
    "seq": Field(whole(8, 8192)),
    "lr": Field(lambda value: type(value) in (int, float) and 0 < value <= 1),
    "tohum": Field(count),
    "parca": Field(shard),
    "n_parca": Field(whole(1, 10**6)),
    "mod": Field(one_of("cpt", "sft")),
    "bicim": Field(identifier),
    "recete": may(identifier),
    "taban_model": may_be_null(identifier),
    "belirtec_sha256": may_be_null(digest),
    "kodlama": may(short_text),
    "adaptor": may_be_null(is_file),
    "veri": may_be_null(is_file),
}
LEASE = {
    "gorev": Field(lease_id),
    "anahtar": Field(lease_key),
    "is": may(one_of("egit", "olc", "dogrula", "on_isle")),
    "sure": Field(whole(5, 30 * 86_400)),
    "son": Field(some_text),
    "fark": may_be_null(object_of(UPDATE)),
    "aday": may_be_null(list_of(object_of(CANDIDATE), 1, 16)),
    "ham_metin": may_be_null(is_file),
    "belirtec": may_be_null(is_file),
    "temizlik": may_be_null(identifier),
    "diller": may_be_null(list_of(text("[a-z]{2,3}"), 0, 200)),
}
TEXT = ("ham_metin", "belirtec", "temizlik")
LEASE_REQUEST = {
    "isci": Field(worker_name),
    "istek": Field(text("[0-9a-f]{32}")),
    "sira": may_be_null(count),
    "kodlama": may(list_of(some_text)),
    "isler": may(list_of(some_text)),
    "elde": may_be_null(round_number),
    "cihaz": may(lambda value: isinstance(value, dict)),
}
REGISTRATION = {
    "isci": Field(worker_name),
    "belirtec": Field(token),
    "liste": may_be_null(is_bool),
}
PROGRESS = {
    "anahtar": Field(lease_key),
    "adim": may(whole(0, 10_000)),
    "kayip": may_be_null(loss),
    "ozet": may_be_null(digest),
}
PROGRESS_ANSWER = {
    "devam": Field(is_bool),
    "sure": may_be_null(whole(0, 30 * 86_400)),
    "son": may_be_null(some_text),
}
ANNOUNCEMENT = {"boyut": Field(whole(1, 64 * 2**30)), "sha256": Field(digest)}
UPLOAD_STATE = {"ofset": Field(whole(0, 64 * 2**30)), "parca_boyut": FILE["parca_boyut"]}
EVALUATION = {
    "kayip": Field(list_of(loss, 1, 16)),
    "token": Field(whole(1, 2**53 - 1)),
    "bayt": Field(count),
    "sure_s": may_be_null(number(0, 1e8)),
    "cihaz": may(text("[^\0]{0,100}")),
    "dtype": may(text("[^\0]{0,40}")),
    "surum": may(text("[^\0]{0,40}")),
}
VERDICT = {
    "kabul": Field(is_bool),
    "gorev": Field(lease_id),
    "tur": Field(round_number),
    "sha256": Field(digest),
}
FATE = {"durum": Field(fate), "kod": may_be_null(short_text), "agirlik": may_be_null(any_number)}
RECEIPT = FATE | {
    "gorev": Field(lease_id),
    "is": may(short_text),
    "tur": Field(round_number),
    "parca": Field(shard),
    "sha256": Field(digest),
    "boyut": Field(count),
    "token": may_be_null(count),
    "kayip": may_be_null(loss),
    "zaman": Field(some_text),
}
RECEIPTS = {
    "isci": Field(worker_name),
    "sira": may_be_null(count),
    "makbuz": Field(list_of(object_of(RECEIPT), 0, 100)),
    "once": may_be_null(whole(1, 2**63 - 1)),
}
FINISHED_ROUND = {
    "tur": Field(round_number),
    "kayip": may_be_null(any_number),
    "kabul": Field(count),
    "elenen": Field(count),
    "sure_s": Field(any_number),
    "sha256": Field(digest),
}
HELD_OUT_LOSS = {
    "surum": Field(round_number),
    "dil": Field(short_text),
    "kayip": Field(any_number),
    "bit_bayt": Field(any_number),
}
STATUS = {
    "durum": Field(one_of("hazir", "acik", "birlestiriliyor", "duraklatildi", "bitti")),
    "tur": Field(round_number),
    "tur_sayisi": Field(rounds),
    "isci_sayisi": Field(count),
    "gorev": Field(object_of(dict.fromkeys(("bos", "kirada", "tamam"), Field(count)))),
    "sonuc": Field(object_of(dict.fromkeys(("kabul", "ret", "elenen"), Field(count)))),
    "gecmis": may(list_of(object_of(FINISHED_ROUND), 0, 100)),
    "olcum": may(list_of(object_of(HELD_OUT_LOSS))),
    "hazirlik": may_be_null(
        object_of({"toplam": Field(whole(1, 2**53 - 1)), "tamam": Field(count)})
    ),
}


def fault_of_task(task: Message) -> str:
    """The first field that breaks the protocol or contradicts another, or nothing."""
    target, job = task.get("hedef"), task.get("is")
    if (job == "dogrula") != (target is not None) or (job == "olc") != (
        task.get("aday") is not None
    ):
        return "hedef or aday does not go with its job"
    if any((job == "on_isle") != (task.get(name) is not None) for name in TEXT):
        return "text does not go with its job"
    if job != "on_isle" and task.get("adaptor") is None:
        return "adaptor is missing"
    if target is not None and not isinstance(target, dict):
        return "hedef is no object"
    if target is not None and target.get("adaptor") is None:
        return "adaptor of hedef is missing"
    if target is not None and (wrong := _fault_of_training(target)):
        return f"hedef: {wrong}"
    return fault(task, LEASE) or _fault_of_training(task)


def _fault_of_training(task: Message) -> str:
    if wrong := fault(task, TRAINING):
        return wrong
    if task["tur"] > task["tur_sayisi"] or task["parca"] >= task["n_parca"]:
        return "numbers contradict each other"
    many = task["bs"] * task["seq"] * task["ic_adim"]
    return "work is above 2^32 tokens" if many > 2**32 else ""
