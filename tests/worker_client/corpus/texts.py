"""Articles to clean: a few by hand in five languages, and as many as wanted out of docs/."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

# Plain prose, without tables and code.
SENTENCE = re.compile(r"(?<=\. )[A-Z][A-Za-z ,;'-]{40,200}\.(?= )")
DOCS = Path(__file__).resolve().parents[3] / "docs"

BY_HAND = {
    "en": (
        "The ferry",
        "Twice a day the ferry crosses the bay, and twice a day old Martha stands at the pier to "
        "watch it come in. She has never been on board. When somebody asks her why, she says that "
        "a boat is best looked at from the shore, where one can still change one's mind.",
    ),
    "de": (
        "Die Fähre",
        "Zweimal am Tag überquert die Fähre die Bucht, und zweimal am Tag steht die alte Martha am "
        "Anleger und sieht ihr zu. An Bord war sie noch nie. Wenn jemand sie fragt, warum, sagt "
        "sie, ein Schiff sehe man am besten vom Ufer aus, wo man es sich anders überlegen kann.",
    ),
    "fr": (
        "Le bac",
        "Deux fois par jour le bac traverse la baie, et deux fois par jour la vieille Marthe se "
        "tient sur le quai pour le voir arriver. Elle n'est jamais montée à bord. Quand on lui "
        "demande pourquoi, elle répond qu'un bateau se regarde mieux depuis la rive.",
    ),
    "tr": (
        "Vapur",
        "Vapur günde iki kez körfezi geçer, yaşlı Martha da günde iki kez iskelede durup onun "
        "gelişini seyreder. Hiç binmemiştir. Neden diye soranlara, gemiye en iyi kıyıdan bakılır, "
        "der; orada insan hâlâ fikrini değiştirebilir, gidecek başka bir yeri daha vardır.",
    ),
    "ja": (
        "渡し船",
        "渡し船は一日に二度、湾を横切る。そして一日に二度、年老いたマルタは桟橋に立ち、船が着くのを"
        "眺めている。彼女は一度も乗ったことがない。なぜかと尋ねられると、船は岸から見るのが一番いい、"
        "そこならまだ考えを変えられるから、と答えるのだった。今日もまた、彼女は静かに海を見つめている。"
        "風が少し強くなり、空には白い雲が流れていた。",
    ),
}


def article(written_in: str, **fields: str) -> dict[str, str]:
    title, body = BY_HAND[written_in]
    return {"title": title, "body": body, "language": written_in} | fields


def line(row: object) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def write_articles(path: Path, rows: list) -> Path:
    path.write_bytes(b"".join(map(line, rows)))
    return path


def from_docs(count: int, seed: int = 0) -> Iterator[dict[str, str]]:
    """English articles of a dozen sentences drawn from the documentation; every tenth a copy."""
    draw = random.Random(seed)
    text = " ".join(path.read_text("utf-8") for path in sorted(DOCS.glob("*.md")))
    sentences = sorted(set(SENTENCE.findall(" ".join(text.split()))))
    before: dict[str, str] = {}
    for number in range(count):
        if number % 10 == 9:
            yield before
            continue
        body = " ".join(draw.sample(sentences, 12))
        before = {"title": f"Article {number}", "body": body, "language": "en"}
        yield before
