"""Droid (Factory): `droid exec --output-format stream-json`, or `json` for its result.

Its figures are of the session so far, subagents included. By the program of version 0.225.
"""

from sprintlog.usage import Usage

from . import items
from .values import Data, command_of, count, exit_code_at_end, mapping, text, tokens_in

_TOKENS = "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens"


def read(message: Data) -> items.Items | None:
    """Return the items of a line; None if it is not one of droid's."""
    kind, session = text(message.get("type")), text(message.get("session_id"))
    key, said = text(message.get("id")) or None, text(message.get("text"))
    if "session_id" not in message:
        return None
    if kind == "system" and "reasoning_effort" in message:
        return (items.Session(session, model=text(message.get("model")) or None),)
    if kind == "message" and "text" in message:
        is_prompt = message.get("role") == "user"
        return ((items.Prompted(said) if is_prompt else items.Said(said)),) if said else ()
    if kind == "tool_call" and "toolName" in message:
        given = mapping(message.get("parameters"))
        tool = text(message.get("toolName"))
        return (items.Called(key, tool, command_of(given), given=given),)
    if kind == "tool_result" and "isError" in message:
        ok, error = message.get("isError") is not True, mapping(message.get("error"))
        code = exit_code_at_end(text(message.get("value")) or text(error.get("message")))
        return (items.Returned(key, ok and code in (None, 0), code),)
    if kind == "error" and "source" in message:
        return (items.AgentEnded(failed=True, error=text(message.get("message")) or None),)
    if kind == "completion":
        return _ended(message, "finalText", "numTurns", "durationMs")
    if kind == "result" and "factory_credits" in mapping(message.get("usage")):
        return _ended(message, "result", "num_turns", "duration_ms")
    return () if kind == "reasoning" else None


def _ended(message: Data, words: str, turns: str, took: str) -> items.Items:
    session, of = text(message.get("session_id")), mapping(message.get("usage"))
    tokens = tokens_in(of, *_TOKENS.split())
    turn = Usage(turns=count(message.get(turns)), duration_ms=count(message.get(took)))
    failed, final = message.get("is_error") is True, text(message.get(words))
    return (
        items.Session(session),
        items.Used(turn, items.FigureSpan.TURN),
        items.Used(tokens, items.FigureSpan.SESSION, session),
        items.AgentEnded(final, failed, final or None if failed else None),
    )
