"""The frame of the pages that the server itself makes, and what it adds to a sprint's."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import urlencode

from sprintlog.projections.page.document import Served
from sprintlog.projections.page.markup import NOTHING, Markup, joined, tag

_SCRIPT = tag("script", src="/static/live.js")
_STYLE = tag("link", rel="stylesheet", href="/static/web.css")
_ICON = tag("link", rel="icon", href="data:,")


def address(path: str, query: Mapping[str, str | None]) -> str:
    """Return an address within this server."""
    said = urlencode({name: text for name, text in query.items() if text is not None})
    return f"{path}?{said}" if said else path


def link(label: object, path: str, **query: str | None) -> Markup:
    """Return a link within this server; `from_` is the parameter `from`."""
    given = {name.rstrip("_"): text for name, text in query.items()}
    return tag("a", label, href=address(path, given))


def document(title: str, nav: Markup, main: Markup, *, position: int | None = None) -> str:
    """Return a whole page; one with a position keeps itself up to date."""
    head = (
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        _ICON,
        tag("link", rel="stylesheet", href="/static/page.css"),
        _STYLE,
    )
    is_live = position is not None
    script = _SCRIPT if is_live else NOTHING
    body = tag("body", nav, main, script, **_live(position, ()))
    return _html(head, body)


def _html(head: Sequence[Markup], body: Markup) -> str:
    whole = tag("head", tag("meta", charset="utf-8"), *head)
    return f"<!DOCTYPE html>\n{tag('html', whole, body, lang='en')}\n"


def served(
    decide: Markup, *, sprint_id: str, position: int, streams: Sequence[str]
) -> Served:
    """Return what is added to the page of a sprint, so that it keeps itself up to date."""
    where = [link("all sprints", "/"), link("two points", "/diff", sprint=sprint_id)]
    if decide:
        where.append(tag("a", "decide", href="#act"))
    bar = joined(_state(), *where)
    return Served(joined(_ICON, _STYLE), bar, decide, _SCRIPT, _live(position, streams))


def head(title: str, *notes: object) -> Markup:
    """Return the head of a page, with what is to be known beside its title."""
    said = [tag("p", note, class_="note") for note in notes]
    return tag("header", tag("h1", title), *said, id="head")


def bar(*parts: object, is_live: bool = False) -> Markup:
    """Return the line at the top: whether the page is up to date, and where one is."""
    said = [tag("span", part) for part in parts]
    return tag("nav", _state() if is_live else NOTHING, *said, aria_label="pages")


def _state() -> Markup:
    return tag("span", "not live yet", id="live", role="status", class_="chip steady")


def _live(position: int | None, streams: Sequence[str]) -> dict[str, str]:
    """Return the attributes of a page's body: up to where it goes, what it is of."""
    if position is None:
        return {}
    # As it is, also where a name holds what must not act on a page that is read.
    return {"data_position": str(position), "data_streams": json.dumps(streams)}


def hidden(fields: Mapping[str, object]) -> Markup:
    """Return fields of a form that nobody sees, exactly as they are."""
    return joined(
        *(
            tag("input", type="hidden", name_=name, value=Markup(escape(str(text))))
            for name, text in fields.items()
        )
    )


def entered(path: str, query: str) -> str:
    """Return the page that goes on to an address, once the cookie is there."""
    there = f"{path}?{query}" if query else path
    refresh = tag("meta", http_equiv="refresh", content=f"0; url={there}")
    body = tag("body", tag("p", tag("a", "Go on", href=there)))
    return _html((refresh, tag("title", "sprintlog"), _ICON), body)
