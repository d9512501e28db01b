"""HTML and SVG elements; text is escaped, and control characters become visible."""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from sprintlog.formatting import UNKNOWN, visible

TEXT_CHARS_MAX = 600
"""Longer text is truncated; the commands print it in full."""
_VOID = {
    *("br", "circle", "col", "input", "line", "link", "meta", "path", "polyline", "rect"),
    *("use", "wbr"),
}
_CAPITALS = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


NOTHING = Markup("")


def text(value: object, chars_max: int = TEXT_CHARS_MAX) -> Markup:
    """Return a value on one line; long text is truncated, and unknown values are dashes."""
    if isinstance(value, Markup):
        return value
    if value is None or value == "":
        return Markup(UNKNOWN)
    return Markup(escape(visible(cut(str(value), chars_max))))


def lines(value: str, chars_max: int) -> Markup:
    """Return a text with its line breaks; long text is truncated."""
    return Markup(
        "\n".join(escape(visible(line)) for line in cut(value, chars_max).splitlines())
    )


def cut(value: str, chars_max: int) -> str:
    """Return the text, truncated with an ellipsis if it exceeds a maximum length."""
    return value if len(value) <= chars_max else f"{value[: chars_max - 1]}…"


def tag(name: str, /, *inside: object, **attributes: Any) -> Markup:
    """Return an element.

    The attribute `class_` becomes `class`, and `data_x` becomes `data-x`. Attributes
    with the value None or False are omitted.
    """
    given = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{given}/>" if inside == () else f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*inside)}</{name}>")


def joined(*parts: object) -> Markup:
    """Return the parts joined together; plain text is escaped."""
    return Markup("".join(p if isinstance(p, Markup) else _inline(p) for p in parts))


def row(cells: list[Markup], **attributes: Any) -> Markup:
    """Return finished cells as a table row."""
    return tag("tr", *cells, **attributes)


def table(
    head: Sequence[str], rows: Sequence[Markup], *, label: str, **more: Any
) -> Markup:
    """Return a table in a box that scrolls if the table is too wide."""
    names = [x if isinstance(x, Markup) else heading(x) for x in head]
    inside = tag("table", tag("thead", row(names)), tag("tbody", *rows), **more)
    return scrolling(inside, label=f"{label}, as a table", class_="scroll")


def scrolling(inside: Markup, *, label: str, class_: str) -> Markup:
    """Return a box that scrolls, also with the keyboard, if its contents are too wide."""
    region = {"tabindex": "0", "role": "region", "aria_label": label}
    return tag("div", inside, class_=class_, **region)


def heading(name: str, /, **attributes: Any) -> Markup:
    """Return a column header."""
    return tag("th", name, scope="col", **attributes)


def section(
    identity: str, title: str, *inside: object, note: Sequence[object] = ()
) -> Markup:
    """Return a section of the page; live pages replace sections by id."""
    told = tag("p", *note, class_="note") if note else NOTHING
    head = tag("h2", title, id=f"{identity}-title")
    return tag(
        "section", head, told, *inside, id=identity, aria_labelledby=f"{identity}-title"
    )


def without(identity: str, title: str, *told: object) -> Markup:
    """Return an empty section with a message."""
    return section(identity, title, tag("p", *told, class_="empty"))


def drawing(
    kind: str, height: int, label: str, *inside: Markup, role: str = "img"
) -> Markup:
    """Return a full-width drawing with a description; one with links is a `group`."""
    size = {"width": "100%", "height": height}
    return tag("svg", *inside, **size, role=role, aria_label=text(label), class_=kind)


def typed(line: str) -> Markup:
    """Return a command that the page's script lets users copy."""
    return tag("code", text(line), class_="command copy")


def command(line: str) -> Markup:
    """Return a command to type, formatted so that options do not break across lines."""
    words = [tag("span", x) if "-" in x else text(x) for x in line.split(" ")]
    inside = [part for word in words for part in (Markup(" "), word)][1:]
    return tag("code", *inside, class_="command")


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)", re.ASCII)


def said(line: str) -> Markup:
    """Return a text with commands, between backticks, and recorded times as elements."""
    pieces = re.split(r"`([^`]{1,400})`", line)
    told = (command(x) if at % 2 else _timed(x) for at, x in enumerate(pieces) if x)
    return joined(*told)


def moment(at: str) -> Markup:
    """Return a recorded UTC time to the second; the page's script shows local time."""
    return tag("time", at[:19].replace("T", " "), datetime=at)


def _timed(line: str) -> Markup:
    pieces = _TIME.split(line)
    return joined(*(moment(x) if at % 2 else x for at, x in enumerate(pieces) if x))


def _inline(part: object) -> Markup:
    return NOTHING if part is None or part == "" else text(part)


def _attribute(key: str, value: object) -> str:
    name = _CAPITALS.get(key) or key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    said = value if isinstance(value, Markup) else escape(visible(str(value)))
    return f' {name}="{said}"'


@cache
def asset(name: str) -> Markup:
    """Return one of the page's own files as trusted markup.

    Indentation and line comments are removed.
    """
    # The loader returns the file that belongs to this module even after an upgrade.
    loader: Any = __spec__.loader
    said = loader.get_data(f"{__file__.rpartition('/')[0]}/static/{name}").decode()
    lines = (line.strip() for line in said.splitlines())
    return Markup("\n".join(x for x in lines if x and not x.startswith("//")) + "\n")
