"""Manual pages as paragraphs: as much of groff_man(7) as prose needs, no examples, no tables."""

import re
from collections.abc import Iterator

_NEW_PARAGRAPH = {"PP", "P", "LP", "sp", "TP", "TQ", "IP", "HP", "RS", "RE", "br"}
_LEFT_OUT = {"nf": "fi", "EX": "EE", "TS": "TE", "ig": ".", "de": ".", "SY": "YS"}
_FONTS = {"B", "I", "BI", "BR", "IB", "IR", "RB", "RI", "SM", "SB"}
_ESCAPE = re.compile(
    r"\\(?:f(?:\((..)|\[([^\]]*)\]|.)|s[-+]?\d+|\((..)|\[([^\]]*)\]|\*(?:\(..|\[[^\]]*\]|.)"
    r"|[mM]\[[^\]]*\]|h'[^']*'|v'[^']*'|[&%/,:)|^cad!?]|(.))"
)
_NAMED = {
    "aq": "'", "cq": "’", "oq": "‘", "lq": "“", "rq": "”", "dq": '"', "co": "©", "em": "—",
    "en": "–", "bu": "•", "ti": "~", "ha": "^", "rs": "\\", "ga": "`", "mu": "×", "->": "→",
    "<=": "≤", ">=": "≥", "+-": "±", "Fo": "«", "Fc": "»", "Bq": "„",
}  # fmt: skip
_SINGLE = {"-": "-", "e": "\\", "\\": "\\", "'": "'", "`": "`"} | dict.fromkeys(" ~0t", " ")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')


def paragraphs(page: str) -> Iterator[str]:
    """The page's paragraphs, one line each; section titles are not among them."""
    if re.search(r"^\.Dd", page, re.M):
        return  # mdoc, another language
    words: list[str] = []
    for line in _prose(page):
        name, _, rest = (
            line[1:].strip().partition(" ") if line[:1] in (".", "'") else ("", "", line)
        )
        if name in _FONTS:
            words.append(_font_line(name, rest))
        elif not name and rest.strip():
            words.append(_plain(rest))
        elif words and (name in _NEW_PARAGRAPH or name in ("SH", "SS") or not name):
            yield " ".join(words)
            words = []
        if name in ("SH", "SS") and not rest.strip():
            words = []
    if words:
        yield " ".join(words)


def _prose(page: str) -> Iterator[str]:
    """Lines outside of comments, definitions, examples and tables; titles stand on their own."""
    end = None
    for line in page.replace("\\\n", "").splitlines():
        name = line[1:].strip().split(" ")[0] if line[:1] in (".", "'") else ""
        if end is not None:
            end = None if name == end else end
        elif name in _LEFT_OUT:
            end = _LEFT_OUT[name]
            yield ".PP"
        elif not name.startswith(('\\"', "TH")):
            yield line


def _font_line(name: str, rest: str) -> str:
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _ARGUMENT.findall(rest)]
    return _plain(("" if len(name) == 2 and name not in ("SM", "SB") else " ").join(parts))


def _plain(text: str) -> str:
    return _ESCAPE.sub(_character, text.partition('\\"')[0]).strip()


def _character(found: re.Match) -> str:
    _, _, short, long, single = found.groups()
    name = short or long
    if name:
        code = re.fullmatch(r"u([0-9A-F]{4,6})", name)
        return chr(int(code[1], 16)) if code else _NAMED.get(name, "")
    return _SINGLE.get(single or "", "")
