"""apt's translated package descriptions: a short one, and paragraphs."""

from collections.abc import Iterable, Iterator

from benchmarks.scratch.markup import Section


def descriptions(lines: Iterable[str]) -> Iterator[Section]:
    """One for each stanza of a ``Translation-LANGUAGE`` file."""
    found = Section()
    for line in lines:
        if line.startswith("Description-") and not line.startswith("Description-md5"):
            found = Section(line.partition(":")[2].strip(), [""])
        elif line.startswith(" .") and found.paragraphs:
            found.paragraphs.append("")
        elif line.startswith(" ") and found.paragraphs:
            found.paragraphs[-1] = f"{found.paragraphs[-1]} {line.strip()}".strip()
        elif not line.strip() and found.paragraphs:
            yield found
            found = Section()
    if found.paragraphs:
        yield found
