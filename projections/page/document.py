"""The whole page: one file with its style and its script; by its policy nothing else runs.

The same log and point give the same bytes. What a live page replaces is one section.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple

from sprintlog.facts import SprintFacts, sprint_facts
from sprintlog.workspaces import Workspace

from .head import head
from .iterations import comparison, iterations
from .markup import NOTHING, Markup, asset, joined, tag, text
from .plan import plan
from .quality import quality
from .records import decisions, events, learnings, queue, sessions
from .state_file import state_file
from .timeline import timeline

SECTIONS: dict[str, Callable[[SprintFacts], Markup]] = {
    "head": head,
    "plan": plan,
    "timeline": timeline,
    "quality": quality,
    "iterations": iterations,
    "compare": comparison,
    "decisions": decisions,
    "queue": queue,
    "learnings": learnings,
    "sessions": sessions,
    "events": events,
    "state": state_file,
}
"""Every section from top to bottom, by the id of its element."""


class Served(NamedTuple):
    """What a server adds to the page; the policy is the one that it answers with."""

    links: Markup
    """In the head: a style of its own."""
    bar: Markup
    """Before the links to the sections: where one is, and whether the page is live."""
    decide: Markup
    """Behind the head: what can be recorded; nothing where the page only reads."""
    script: Markup
    """Before the page's own script, which changes what is there."""
    body: Mapping[str, str]
    """Attributes that the server's script reads."""


def page(workspace: Workspace, sprint_id: str, *, at: str | None = None) -> str:
    """Return the page of a sprint at a point, or at its newest version."""
    return document(sprint_facts(workspace, sprint_id, at=at))


def document(facts: SprintFacts, served: Served | None = None) -> str:
    """Return the page of facts as a document of HTML."""
    first, *others = (build(facts) for build in SECTIONS.values())
    style, script = _style(), asset("page.js")
    added = served or Served(_policy(), NOTHING, NOTHING, NOTHING, {})
    inside = joined(
        tag("meta", charset="utf-8"),
        added.links,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", facts.sprint.id, ": ", str(facts.status.status)),
        tag("style", style),
    )
    body = [
        tag("a", "Skip to what matters", href="#head", class_="skip"),
        tag("nav", added.bar, *map(_link, SECTIONS), aria_label="sections"),
        tag("main", first, added.decide, *others),
        added.script,
        tag("script", script),
    ]
    whole = tag("html", tag("head", inside), tag("body", *body, **added.body), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _policy() -> Markup:
    """Return what keeps a file from anything but its own style and script."""
    style, script = sources()
    policy = f"default-src 'none'; style-src {style}; script-src {script}; "
    policy += "connect-src 'none'; base-uri 'none'; form-action 'none'"
    referrer = tag("meta", name="referrer", content="no-referrer")
    kept = tag("meta", http_equiv="Content-Security-Policy", content=policy)
    return joined(kept, referrer)


def sources() -> tuple[str, str]:
    """Return the page's style and its script as a policy names them."""
    return _digest(_style()), _digest(asset("page.js"))


def _style() -> Markup:
    """Return the style of the page: that of its drawings, and all else."""
    return joined(asset("drawing.css"), asset("page.css"))


def sections(facts: SprintFacts, *names: str) -> dict[str, str]:
    """Return some sections, or all of them, by their ids."""
    return {name: str(SECTIONS[name](facts)) for name in names or SECTIONS}


def _link(name: str) -> Markup:
    return tag("a", text("now" if name == "head" else name), href=f"#{name}")


def _digest(source: str) -> str:
    """Return the digest of a source as a policy names it."""
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"
