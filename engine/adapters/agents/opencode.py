"""opencode: `opencode run --format json` prints a line for each part of a message."""

from ...iterations.events import Usage
from ...sprint.state.tree import Data
from .items import AgentEnded, Called, FigureSpan, Items, Said, Used
from .values import added, amount, count, mapping, text

_GOES_ON = "tool-calls"
"""Why a step ends after which there is another one."""


def read(message: Data) -> Items | None:
    """Return what a line says; None when it is none of opencode."""
    kind = text(message.get("type"))
    if not kind or not text(message.get("sessionID")):
        return None
    part = mapping(message.get("part"))
    if kind == "text":
        return (Said(text(part.get("text"))),) if text(part.get("text")) else ()
    if kind == "tool_use":
        return (Called(),)
    if kind == "error":
        error = mapping(message.get("error"))
        said = text(mapping(error.get("data")).get("message")) or text(error.get("name"))
        return (AgentEnded(failed=True, error=said or None),)
    if kind != "step_finish":
        return ()
    used = Used(_usage(part), FigureSpan.CALL, text(part.get("id")) or None)
    return (used,) if part.get("reason") == _GOES_ON else (used, AgentEnded())


def _usage(part: Data) -> Usage:
    tokens = mapping(part.get("tokens"))
    cache = mapping(tokens.get("cache"))
    return Usage(
        input_tokens=count(tokens.get("input")),
        output_tokens=added(count(tokens.get(name)) for name in ("output", "reasoning")),
        cache_read_tokens=count(cache.get("read")),
        cache_creation_tokens=count(cache.get("write")),
        cost_usd=amount(part.get("cost")),
    )
