"""The forms of a live page that may write: what can be recorded, and what that would be."""

from collections.abc import Mapping

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.sprint.state import words
from sprintlog.engine.sprint.state.queue import takes_part
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.page.markup import Markup, command, section, tag, text
from sprintlog.projections.page.markup import said as told

from .actions import ACTIONS, Field, Given, PageAction, Shown, WantedAction
from .markup import address, bar, document, head, hidden, link

_STOPPED = (
    *(words.PAUSED, words.PAUSED_AT_BREAKPOINT, words.BLOCKED),
    *(words.NEEDS_HUMAN, words.INTERRUPTED),
)


def forms(sprint: Sprint, form_token: str) -> Markup:
    """Return the section with everything that can be recorded of a sprint now."""
    names = []
    if sprint.plan.status == words.IN_PROGRESS:
        names.append("sprint pause")
    if sprint.plan.status in _STOPPED:
        names.append("sprint resume")
    names.append("rollback")
    asked = [_form(sprint, ACTIONS[name], form_token) for name in names]
    asked += [
        _request(sprint, entry, form_token)
        for entry in sprint.queue
        if takes_part(entry) and entry.get("status") == words.PENDING
    ]
    return section("act", "Decide", *asked)


def _request(sprint: Sprint, entry: Mapping[str, object], form_token: str) -> Markup:
    identity = str(entry["id"])
    said = f"Request {identity}: {entry.get('title') or ''}"
    each = [
        _form(sprint, ACTIONS[name], form_token, {"request": identity})
        for name in ("queue approve", "queue reject", "queue defer", "queue backlog")
    ]
    return tag("details", tag("summary", text(said)), *each)


def _form(
    sprint: Sprint, action: PageAction, form_token: str, known: Given | None = None
) -> Markup:
    given = known or {}
    form = _posted(
        action,
        {"sprint": sprint.id, "form": form_token, **given},
        *(_field(one) for one in action.fields if one.name not in given),
        tag("button", f"{action.label} …", type="submit"),
        class_="act",
    )
    return form if given else tag("details", tag("summary", action.label), form)


def _posted(
    action: PageAction, fields: Mapping[str, object], *inside: object, **attributes: str
) -> Markup:
    """Return the form of an action, with fields that nobody sees."""
    there = address("/act", {"do": action.command})
    whole = (hidden(fields), *inside)
    return tag("form", *whole, action=there, method="post", **attributes)


def _field(field: Field) -> Markup:
    if field.choices:
        options = [tag("option", word, value=word) for word in field.choices]
        return tag("label", f"{field.label} ", tag("select", *options, name_=field.name))
    if field.is_flag:
        box = tag("input", type="checkbox", name_=field.name, value="yes")
        return tag("label", box, f" {field.label}")
    typed = tag("input", name_=field.name, required=field.is_needed, autocomplete="off")
    return tag("label", f"{field.label} ", typed)


def confirmation(wanted: WantedAction, shown: Shown, form_token: str) -> str:
    """Return the page that shows what would be recorded, and asks."""
    action, sprint_id, given, _ = wanted
    what = tag("p", "Nothing: it is so already.")
    if shown.lines:
        what = tag("ul", *(tag("li", line) for line in shown.lines), class_="shown")
    said = [tag("li", tag("b", name), " ", value) for name, value in given.items()]
    again = _posted(
        action,
        {**given, "sprint": sprint_id, "form": form_token, "version": shown.version},
        tag("button", action.label, type="submit", autofocus=True),
        " ",
        link("Leave it as it is", "/sprint", id=sprint_id),
    )
    return document(
        f"{action.label}?",
        bar(link("all sprints", "/"), link(sprint_id, "/sprint", id=sprint_id)),
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
    """Return the page that says what is wrong, and what helps."""
    hint = tag("p", told(error.hint)) if error.hint else None
    back = link("Back", "/sprint", id=sprint_id) if sprint_id else link("Back", "/")
    said = tag("p", error.message, class_="error", role="alert")
    return document(
        "sprintlog: refused",
        bar(link("all sprints", "/")),
        tag("main", head("That did not work"), said, hint, tag("p", back)),
    )
