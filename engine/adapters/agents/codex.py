"""Codex: `codex exec --json` prints a line for each event of the thread."""

from ...iterations.events import Usage
from ...sprint.state.tree import Data
from .items import AgentEnded, Called, FigureSpan, Items, Said, Session, Used
from .values import count, less, mapping, text

_FAMILIES = ("item.", "thread.", "turn.")
_NO_TOOLS = {"agent_message", "error", "reasoning", "todo_list"}
"""Items that are no call of a tool; those named error are warnings."""


def read(message: Data) -> Items | None:
    """Return what a line says; None when it is none of Codex."""
    kind = text(message.get("type"))
    if kind == "error" and text(message.get("message")):
        # Also said of a lost connection that is tried again: what comes last counts.
        return (AgentEnded(failed=True, error=text(message.get("message"))),)
    if not kind.startswith(_FAMILIES):
        return None
    if kind == "thread.started":
        return (Session(text(message.get("thread_id"))),)
    if kind == "turn.completed":
        # Despite its name it is of the thread so far.
        used = _usage(mapping(message.get("usage")))
        return (Used(used, FigureSpan.SESSION), AgentEnded())
    if kind == "turn.failed":
        error = text(mapping(message.get("error")).get("message"))
        return (AgentEnded(failed=True, error=error or None),)
    return _item(mapping(message.get("item")), is_whole=kind == "item.completed")


def _item(item: Data, *, is_whole: bool) -> Items:
    kind = text(item.get("type"))
    if kind == "agent_message" and is_whole and text(item.get("text")):
        return (Said(text(item.get("text"))),)
    return (Called(),) if kind and kind not in _NO_TOOLS else ()


def _usage(usage: Data) -> Usage:
    cached = count(usage.get("cached_input_tokens"))
    return Usage(
        input_tokens=less(count(usage.get("input_tokens")), cached),
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=cached,
        cache_creation_tokens=count(usage.get("cache_write_input_tokens")),
    )
