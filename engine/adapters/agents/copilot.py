"""GitHub Copilot CLI: `--output-format json` prints a line for each event.

Its last line has neither text nor tokens: the text is in its messages, and the tokens are
in its file `events.jsonl`, which has the same events and no result.
"""

from sprintlog.usage import Usage, known_sum

from . import items as out
from .values import (
    Data,
    command_of,
    count,
    kind_of,
    less,
    lines_of_diff,
    mapping,
    objects,
    text,
)


def read(message: Data) -> out.Items | None:
    """Return the items of a line; None if it is not one of Copilot's."""
    kind = text(message.get("type"))
    if kind == "result" and {"exitCode", "sessionId"} & message.keys():
        return _result(message)
    if "." not in kind or not isinstance(message.get("data"), dict):
        return None
    data, at = mapping(message.get("data")), text(message.get("timestamp")) or None
    if message.get("ephemeral") is True:
        return ()
    by = text(data.get("parentToolCallId")) or None
    if kind == "assistant.message":
        return _message(data, by, at)
    if kind in ("tool.execution_start", "tool.execution_complete"):
        return _tool(data, by, at, is_over=kind == "tool.execution_complete")
    if kind == "session.error" and by is None:
        return (
            out.Refused(text(data.get("errorType")), status=count(data.get("statusCode"))),
            out.AgentEnded(failed=True, error=text(data.get("message")) or None),
        )
    if kind == "user.message" and by is None and text(data.get("content")):
        return (out.Prompted(text(data.get("content")), at),)
    return _session(kind, data, key=text(message.get("id")) or None)


def _session(kind: str, data: Data, *, key: str | None) -> out.Items:
    if kind == "session.start":
        version = text(data.get("copilotVersion")) or None
        model = text(data.get("selectedModel")) or None
        return (out.Session(text(data.get("sessionId")), version, model),)
    if kind == "session.usage_record":
        usage = mapping(data.get("usage"))
        model = text(usage.get("model")) or None
        return (out.Used(_usage(usage), out.FigureSpan.CALL, key, model=model),)
    if kind != "session.shutdown":
        return ()
    models = objects(list(mapping(data.get("modelMetrics")).values()))
    used = known_sum(_usage(mapping(model.get("usage"))) for model in models)
    ended = out.AgentEnded(failed=data.get("shutdownType") == "error")
    return (out.Used(used, out.FigureSpan.SESSION), ended)


def _message(data: Data, by: str | None, at: str | None) -> out.Items:
    said = text(data.get("content"))
    items: list[out.Item] = [out.Said(said)] if said and by is None else []
    for call in objects(data.get("toolRequests")):
        key, given = text(call.get("toolCallId")) or None, mapping(call.get("arguments"))
        tool, command = text(call.get("name")), command_of(given)
        items.append(out.Called(key, tool, command, by, at, given))
    if model := text(data.get("model")):
        items.append(out.Used(Usage(), out.FigureSpan.CALL, model=model))
    return tuple(items)


def _tool(data: Data, by: str | None, at: str | None, *, is_over: bool) -> out.Items:
    key = text(data.get("toolCallId")) or None
    if not is_over:
        given = mapping(data.get("arguments"))
        tool, command = text(data.get("toolName")), command_of(given)
        return (out.Called(key, tool, command, by, at, given),)
    code = mapping(data.get("shellExecution")).get("exitCode")
    exit_code = code if type(code) is int else None
    # A command that fails is called a success.
    ok = data.get("success") is True and exit_code in (None, 0)
    edits = [one for one in objects(data.get("fileEdits")) if text(one.get("path"))]
    diff = text(mapping(data.get("result")).get("detailedContent"))
    counts = lines_of_diff(diff.split("\n")) if len(edits) == 1 and diff else (None, None)
    return (
        out.Returned(key, ok, exit_code, at=at),
        *(
            out.FileChanged(key, text(x.get("path")), kind_of(x.get("kind")), *counts)
            for x in edits
        ),
    )


def _usage(usage: Data) -> Usage:
    """Return the token counts of Copilot: the input includes cached tokens."""
    cached = count(usage.get("cacheReadTokens"))
    kept = count(usage.get("cacheWriteTokens"))
    return Usage(
        input_tokens=less(less(count(usage.get("inputTokens")), cached), kept),
        output_tokens=count(usage.get("outputTokens")),
        cache_read_tokens=cached,
        cache_creation_tokens=kept,
    )


def _result(message: Data) -> out.Items:
    took = count(mapping(message.get("usage")).get("sessionDurationMs"))
    exit_code = message.get("exitCode")
    return (
        out.Session(text(message.get("sessionId"))),
        out.Used(Usage(duration_ms=took), out.FigureSpan.SESSION),
        out.AgentEnded(failed=exit_code is not None and exit_code != 0),
    )
