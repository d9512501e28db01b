"""The frame and the forms of the live pages."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

from sprintlog.errors import SprintlogError
from sprintlog.facts import SprintFacts

from .document import Served, html
from .markup import NOTHING, Markup, command, joined, section, tag, text
from .markup import said as told

Given = Mapping[str, str]
Actions = Mapping[str, Any]
"""The actions by command: each has a `command`, a `label` and `fields`."""
_STOPPED = (*("paused", "paused-at-breakpoint", "blocked", "needs-human", "interrupted"),)
_DECISIONS = ("queue approve", "queue reject", "queue defer", "queue backlog")


def forms(facts: SprintFacts, actions: Actions, form_token: str) -> Markup:
    """Return the forms that can currently be submitted for a sprint, as a section."""
    sprint, names = facts.sprint, []
    if sprint.plan.status == "in-progress":
        names.append("sprint pause")
    if sprint.plan.status in _STOPPED:
        names.append("sprint resume")
    names += ["note", "rollback"] if sprint.plan.status != "completed" else ["rollback"]
    asked = [_form(sprint.id, actions[name], form_token) for name in names]
    asked += [
        _request(sprint.id, entry, actions, form_token)
        for entry in sprint.queue
        if isinstance(entry, dict)
        and isinstance(entry.get("id"), str)
        and entry["id"]
        and entry.get("status") == "pending"
    ]
    return section("act", "Decide", *asked)


def _request(
    sprint_id: str, entry: Mapping[str, object], actions: Actions, form_token: str
) -> Markup:
    identity = str(entry["id"])
    said = f"Request {identity}: {entry.get('title') or ''}"
    each = [
        _form(sprint_id, actions[name], form_token, {"request": identity})
        for name in _DECISIONS
    ]
    return tag("details", tag("summary", text(said)), *each)


def _form(
    sprint_id: str, action: Any, form_token: str, known: Given | None = None
) -> Markup:
    given = known or {}
    form = _posted(
        action,
        {"sprint": sprint_id, "form": form_token, **given},
        *(_field(one) for one in action.fields if one.name not in given),
        tag("button", f"{action.label} …", type="submit"),
        class_="act",
    )
    return form if given else tag("details", tag("summary", action.label), form)


def _posted(
    action: Any, fields: Mapping[str, object], *inside: object, **attributes: str
) -> Markup:
    """Return an action's form, with hidden fields."""
    there = address("act", {"do": action.command})
    whole = (hidden(fields), *inside)
    return tag("form", *whole, action=there, method="post", **attributes)


def _field(field: Any) -> Markup:
    if field.choices:
        options = [tag("option", word, value=word) for word in field.choices]
        return tag("label", f"{field.label} ", tag("select", *options, name_=field.name))
    if field.is_flag:
        box = tag("input", type="checkbox", name_=field.name, value="yes")
        return tag("label", box, f" {field.label}")
    typed = tag("input", name_=field.name, required=field.is_needed, autocomplete="off")
    return tag("label", f"{field.label} ", typed)


def confirmation(wanted: Any, shown: Any, form_token: str) -> str:
    """Return a confirmation page that previews the events of an action."""
    action, sprint_id, given = wanted.action, wanted.sprint_id, wanted.given
    what = tag("p", "Nothing: it is so already.")
    if shown.lines:
        what = tag("ul", *(tag("li", line) for line in shown.lines), class_="shown")
    said = [tag("li", tag("b", name), " ", value) for name, value in given.items()]
    again = _posted(
        action,
        {**given, "sprint": sprint_id, "form": form_token, "version": shown.version},
        tag("button", action.label, type="submit", autofocus=True),
        " ",
        link("Cancel", "sprint", id=sprint_id),
    )
    return document(
        f"{action.label}?",
        bar(link("all sprints", "/"), link(sprint_id, "sprint", id=sprint_id)),
        tag(
            "main",
            head(f"{action.label}: {sprint_id}", f"as of version {shown.version}"),
            tag("p", command(f"sprintlog {action.command}"), " with" if said else ""),
            tag("ul", *said, class_="shown"),
            tag("h2", "It would record"),
            what,
            again,
        ),
    )


def refused(error: SprintlogError, sprint_id: str | None) -> str:
    """Return an error page that includes the error's hint."""
    hint = tag("p", told(error.hint)) if error.hint else None
    back = link("Back", "sprint", id=sprint_id) if sprint_id else link("Back", "/")
    said = tag("p", error.message, class_="error", role="alert")
    return document(
        "sprintlog: refused",
        bar(link("all sprints", "/")),
        tag("main", head("That did not work"), said, hint, tag("p", back)),
    )


_SCRIPT = tag("script", src="/static/live.js")
_STYLE = tag("link", rel="stylesheet", href="/static/web.css")
_ICON = tag("link", rel="icon", href="data:,")


def address(path: str, query: Mapping[str, str | None]) -> str:
    """Return a URL within this server; without a leading slash, it is of the same log."""
    said = urlencode({name: text for name, text in query.items() if text is not None})
    return f"{path}?{said}" if said else path


def link(label: object, path: str, **query: str | None) -> Markup:
    """Return a link within this server; `from_` sets the query parameter `from`."""
    given = {name.rstrip("_"): text for name, text in query.items()}
    return tag("a", label, href=address(path, given))


def document(title: str, nav: Markup, main: Markup, *, position: int | None = None) -> str:
    """Return a complete page; if it has a position, it updates itself."""
    head = (
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        _ICON,
        tag("link", rel="stylesheet", href="/static/page.css"),
        _STYLE,
    )
    script = NOTHING if position is None else _SCRIPT
    return html(head, tag("body", nav, main, script, **_live(position, ())))


def served(
    decide: Markup, *, sprint_id: str, position: int, streams: Sequence[str]
) -> Served:
    """Return the additions that make a sprint's page update itself."""
    where = [link("all sprints", "/")]
    if decide:
        where.append(tag("a", "decide", href="#act"))
    live = {**_live(position, streams), "data_sprint": Markup(escape(sprint_id))}
    return Served(joined(_ICON, _STYLE), joined(_state(), *where), decide, _SCRIPT, live)


def head(title: str, *notes: object) -> Markup:
    """Return a page heading with notes."""
    said = [tag("p", note, class_="note") for note in notes]
    return tag("header", tag("h1", title), *said, id="head")


def bar(*parts: object, is_live: bool = False) -> Markup:
    """Return the navigation bar, which shows whether the page is up to date."""
    said = [tag("span", part) for part in parts]
    return tag("nav", _state() if is_live else NOTHING, *said, aria_label="pages")


def _state() -> Markup:
    return tag("span", "not live yet", id="live", role="status", class_="chip steady")


def _live(position: int | None, streams: Sequence[str]) -> dict[str, str]:
    """Return the attributes of a page's body: its log position and its streams."""
    if position is None:
        return {}
    # Not escaped, because the script compares names exactly, including control characters.
    return {"data_position": str(position), "data_streams": json.dumps(streams)}


def hidden(fields: Mapping[str, object]) -> Markup:
    """Return a form's hidden fields, with their values unchanged."""
    return joined(
        *(
            tag("input", type="hidden", name_=name, value=Markup(escape(str(text))))
            for name, text in fields.items()
        )
    )


def entered(path: str, query: str) -> str:
    """Return a page that redirects to an address after the cookie has been set."""
    there = f"{path}?{query}" if query else path
    refresh = tag("meta", http_equiv="refresh", content=f"0; url={there}")
    body = tag("body", tag("p", tag("a", "Go on", href=there)))
    return html((refresh, tag("title", "sprintlog"), _ICON), body)
