"""What a strict content security policy would stop."""

from html.parser import HTMLParser


class Inline(HTMLParser):
    """Collects what a strict policy would not run or apply."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        inline = tag == "style" or "style" in given or any(name.startswith("on") for name in given)
        runs = tag == "script" and "src" not in given and given.get("type") != "application/json"
        elsewhere = tag in ("script", "link", "img") and "//" in (
            given.get("src") or given.get("href") or ""
        )
        if inline or runs or elsewhere:
            self.found.append(self.get_starttag_text() or tag)
