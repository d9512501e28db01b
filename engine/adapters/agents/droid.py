"""Droid (Factory): `droid exec --output-format stream-json`, or `json` for the result.

Droid's figures cover the session so far, including subagents. This module is based on
version 0.225. The format of session files is known from descriptions by third parties.
"""

from sprintlog.usage import Usage

from . import claude, items
from . import values as v


def read(message: v.Data) -> items.Items | None:
    """Return the items in a line; None if it is not a Droid line."""
    kind, session = v.text(message.get("type")), v.text(message.get("session_id"))
    key, said = v.word(message, "id"), v.text(message.get("text"))
    if "session_id" not in message:
        return None
    if kind == "system" and "reasoning_effort" in message:
        return (items.Session(session, model=v.word(message, "model")),)
    if kind == "message" and "text" in message:
        is_prompt = message.get("role") == "user"
        return ((items.Prompted(said) if is_prompt else items.Said(said)),) if said else ()
    if kind == "tool_call" and "toolName" in message:
        tool, given = v.text(message.get("toolName")), v.inner(message, "parameters")
        return (v.called(key, tool, given),)
    if kind == "tool_result" and "isError" in message:
        ok, error = message.get("isError") is not True, v.inner(message, "error")
        output = v.text(message.get("value")) or v.text(error.get("message"))
        code = v.exit_code_at_end(output)
        return (items.Returned(key, ok and code in (None, 0), code),)
    if kind == "error" and "source" in message:
        return (items.failed(v.word(message, "message")),)
    if kind == "completion":
        return _ended(message, "finalText", "numTurns", "durationMs")
    if kind == "result" and "factory_credits" in v.inner(message, "usage"):
        return _ended(message, "result", "num_turns", "duration_ms")
    return () if kind == "reasoning" else None


def _ended(message: v.Data, words: str, turns: str, took: str) -> items.Items:
    session, of = v.text(message.get("session_id")), v.inner(message, "usage")
    tokens = v.tokens_in(of, *v.TOKENS)
    turns_, took_ = v.counts(message, turns, took)
    turn = Usage(turns=turns_, duration_ms=took_)
    failed, final = message.get("is_error") is True, v.text(message.get(words))
    return (
        items.Session(session),
        items.Used(turn, items.FigureSpan.TURN),
        items.Used(tokens, items.FigureSpan.SESSION, session),
        items.AgentEnded(final, failed, final or None if failed else None),
    )


def read_session(message: v.Data) -> items.Items | None:
    """Return the items in a line of a session file, which contains no figures."""
    kind, inner = v.text(message.get("type")), v.inner(message, "message")
    if kind == "session_start":
        return (items.Session(v.text(message.get("id"))),)
    if kind != "message":
        return () if kind else None
    at, blocks = v.word(message, "timestamp"), v.objects(inner.get("content"))
    texts = v.texts([block.get("text") for block in blocks])
    prompts = [one for one in texts if not one.startswith("<system-reminder>")]
    if prompts and inner.get("role") == "user":
        return (items.Prompted("\n".join(prompts), at),)
    line = {"type": inner.get("role"), "message": inner, "timestamp": at}
    found = claude.read(line) or ()
    is_answer = prompts and not any(isinstance(x, items.Called) for x in found)
    said = (x for x in found if not isinstance(x, items.Used))
    return (*said, items.AgentEnded()) if is_answer else tuple(said)
