"""Codex: `codex exec --json` prints a line for each event of the thread."""

from ...judging.events import Usage
from . import items as out
from .values import Data, command_of, count, kind_of, less, mapping, objects, text, texts

_FAMILIES = ("item.", "thread.", "turn.")
_NO_TOOLS = {"agent_message", "error", "reasoning", "todo_list"}
"""Items that are no call of a tool; those named error are warnings."""


def read(message: Data) -> out.Items | None:
    """Return what a line says; None when it is none of Codex."""
    kind = text(message.get("type"))
    if kind == "error" and text(message.get("message")):
        # Also said of a lost connection that is tried again: what comes last counts.
        return (out.AgentEnded(failed=True, error=text(message.get("message"))),)
    if kind == "agent-turn-complete" and text(message.get("thread-id")):
        return _notified(message)
    if not kind.startswith(_FAMILIES):
        return None
    if kind == "thread.started":
        return (out.Session(text(message.get("thread_id"))),)
    if kind == "turn.completed":
        # Despite its name it is of the thread so far.
        used = usage_of(mapping(message.get("usage")))
        return (out.Used(used, out.FigureSpan.SESSION), out.AgentEnded())
    if kind == "turn.failed":
        error = text(mapping(message.get("error")).get("message"))
        return (out.AgentEnded(failed=True, error=error or None),)
    return _item(mapping(message.get("item")), is_whole=kind == "item.completed")


def _notified(message: Data) -> out.Items:
    """Return what Codex tells the command in its setting `notify`."""
    said = text(message.get("last-assistant-message"))
    return (
        out.Session(text(message.get("thread-id"))),
        *(out.Prompted(one) for one in texts(message.get("input-messages"))),
        out.AgentEnded(said or None),
    )


def _item(item: Data, *, is_whole: bool) -> out.Items:
    kind = text(item.get("type"))
    if kind == "agent_message" and is_whole and text(item.get("text")):
        return (out.Said(text(item.get("text"))),)
    if not kind or kind in _NO_TOOLS:
        return ()
    key = text(item.get("id")) or None
    tool = text(item.get("tool")) or kind
    called = out.Called(key, tool, command_of(item))
    if not is_whole:
        return (called,)
    exit_code = item.get("exit_code")
    items: list[out.Item] = [called]
    items.append(
        out.Returned(
            key,
            ok=item.get("status") == "completed" if text(item.get("status")) else None,
            exit_code=exit_code if type(exit_code) is int else None,
        )
    )
    items += [
        out.FileChanged(key, text(change.get("path")), kind_of(change.get("kind")))
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
