"""Codex: `codex exec --json` prints a line for each event of the thread."""

from ...iterations.events import Usage
from .items import (
    AgentEnded,
    Called,
    FigureSpan,
    FileChanged,
    Item,
    Items,
    Prompted,
    Returned,
    Said,
    Session,
    Used,
)
from .values import Data, command_of, count, kind_of, less, mapping, objects, text, texts

_FAMILIES = ("item.", "thread.", "turn.")
_NO_TOOLS = {"agent_message", "error", "reasoning", "todo_list"}
"""Items that are no call of a tool; those named error are warnings."""


def read(message: Data) -> Items | None:
    """Return what a line says; None when it is none of Codex."""
    kind = text(message.get("type"))
    if kind == "error" and text(message.get("message")):
        # Also said of a lost connection that is tried again: what comes last counts.
        return (AgentEnded(failed=True, error=text(message.get("message"))),)
    if kind == "agent-turn-complete" and text(message.get("thread-id")):
        return _notified(message)
    if not kind.startswith(_FAMILIES):
        return None
    if kind == "thread.started":
        return (Session(text(message.get("thread_id"))),)
    if kind == "turn.completed":
        # Despite its name it is of the thread so far.
        used = usage_of(mapping(message.get("usage")))
        return (Used(used, FigureSpan.SESSION), AgentEnded())
    if kind == "turn.failed":
        error = text(mapping(message.get("error")).get("message"))
        return (AgentEnded(failed=True, error=error or None),)
    return _item(mapping(message.get("item")), is_whole=kind == "item.completed")


def _notified(message: Data) -> Items:
    """Return what Codex tells the command in its setting `notify`."""
    said = text(message.get("last-assistant-message"))
    return (
        Session(text(message.get("thread-id"))),
        *(Prompted(one) for one in texts(message.get("input-messages"))),
        AgentEnded(said or None),
    )


def _item(item: Data, *, is_whole: bool) -> Items:
    kind = text(item.get("type"))
    if kind == "agent_message" and is_whole and text(item.get("text")):
        return (Said(text(item.get("text"))),)
    if not kind or kind in _NO_TOOLS:
        return ()
    key = text(item.get("id")) or None
    tool = text(item.get("tool")) or kind
    called = Called(key, tool, command_of(item))
    if not is_whole:
        return (called,)
    exit_code = item.get("exit_code")
    items: list[Item] = [called]
    items.append(
        Returned(
            key,
            ok=item.get("status") == "completed" if text(item.get("status")) else None,
            exit_code=exit_code if type(exit_code) is int else None,
        )
    )
    items += [
        FileChanged(key, text(change.get("path")), kind_of(change.get("kind")))
        for change in objects(item.get("changes"))
        if text(change.get("path"))
    ]
    return tuple(items)


def usage_of(usage: Data) -> Usage:
    """Return what Codex says of its tokens; those from a cache are within the others."""
    cached = count(usage.get("cached_input_tokens"))
    return Usage(
        input_tokens=less(count(usage.get("input_tokens")), cached),
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=cached,
        cache_creation_tokens=count(usage.get("cache_write_input_tokens")),
    )
