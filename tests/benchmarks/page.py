"""Replace the table of figures on the page about performance."""

from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "performance.md"
PLACES = ("figures",)


def filled(text: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Return the page with lines replaced; raise `ValueError` if a position is missing."""
    for place, lines in tables.items():
        before, begin, rest = text.partition(f"<!-- {place} -->\n")
        _, end, after = rest.partition(f"<!-- end of {place} -->")
        if not (begin and end):
            raise ValueError(f"the page has no place for {place}")
        text = "\n".join([before + begin, *lines, "", end + after])
    return text


def write(tables: Mapping[str, Sequence[str]], page: Path = PAGE) -> None:
    """Write tables into the page."""
    page.write_text(filled(page.read_text(), tables))


def standing(text: str, place: str) -> list[str]:
    """Return the lines at a place of the page."""
    rest = text.partition(f"<!-- {place} -->\n")[2]
    return rest.partition(f"<!-- end of {place} -->")[0].strip("\n").split("\n")
