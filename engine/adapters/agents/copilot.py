"""GitHub Copilot CLI: `--output-format json` prints a line for each event.

Its last line has neither text nor tokens: the text is in its messages, and the tokens are
in its file `events.jsonl`, which has the same events and no result.
"""

from sprintlog.usage import Usage, known_sum

from . import items as out
from . import values as v

_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def read(message: v.Data) -> out.Items | None:
    """Return the items of a line; None if it is not one of Copilot's."""
    kind = v.text(message.get("type"))
    if kind == "result" and {"exitCode", "sessionId"} & message.keys():
        return _result(message)
    if "." not in kind or not isinstance(message.get("data"), dict):
        return None
    data, at = v.mapping(message.get("data")), v.word(message, "timestamp")
    if message.get("ephemeral") is True:
        return ()
    by = v.word(data, "parentToolCallId")
    if kind == "assistant.message":
        return _message(data, by, at)
    if kind in ("tool.execution_start", "tool.execution_complete"):
        return _tool(data, by, at, is_over=kind == "tool.execution_complete")
    if kind == "session.error" and by is None:
        return (
            out.Refused(
                v.text(data.get("errorType")), status=v.count(data.get("statusCode"))
            ),
            out.failed(v.word(data, "message")),
        )
    if kind == "user.message" and by is None and v.text(data.get("content")):
        return (out.Prompted(v.text(data.get("content")), at),)
    return _session(kind, data, key=v.word(message, "id"))


def _session(kind: str, data: v.Data, *, key: str | None) -> out.Items:
    if kind == "session.start":
        version, model = v.word(data, "copilotVersion"), v.word(data, "selectedModel")
        return (out.Session(v.text(data.get("sessionId")), version, model),)
    if kind == "session.usage_record":
        usage = v.mapping(data.get("usage"))
        model = v.word(usage, "model")
        return (out.Used(_usage(usage), out.FigureSpan.CALL, key, model=model),)
    if kind != "session.shutdown":
        return ()
    models = v.objects(list(v.mapping(data.get("modelMetrics")).values()))
    used = known_sum(_usage(v.mapping(model.get("usage"))) for model in models)
    ended = out.AgentEnded(failed=data.get("shutdownType") == "error")
    return (out.Used(used, out.FigureSpan.SESSION), ended)


def _message(data: v.Data, by: str | None, at: str | None) -> out.Items:
    said = v.text(data.get("content"))
    items: list[out.Item] = [out.Said(said)] if said and by is None else []
    for call in v.objects(data.get("toolRequests")):
        key, given = v.word(call, "toolCallId"), v.mapping(call.get("arguments"))
        items.append(v.called(key, v.text(call.get("name")), given, by=by, at=at))
    if model := v.text(data.get("model")):
        items.append(out.Used(Usage(), out.FigureSpan.CALL, model=model))
    return tuple(items)


def _tool(data: v.Data, by: str | None, at: str | None, *, is_over: bool) -> out.Items:
    key = v.word(data, "toolCallId")
    if not is_over:
        tool, given = v.text(data.get("toolName")), v.mapping(data.get("arguments"))
        return (v.called(key, tool, given, by=by, at=at),)
    exit_code = v.integer(v.mapping(data.get("shellExecution")).get("exitCode"))
    # A command that fails is called a success.
    ok = data.get("success") is True and exit_code in (None, 0)
    edits = [one for one in v.objects(data.get("fileEdits")) if v.text(one.get("path"))]
    diff = v.text(v.mapping(data.get("result")).get("detailedContent"))
    lines = v.lines_of_diff(diff.split("\n")) if len(edits) == 1 and diff else (None, None)
    changes = (
        out.FileChanged(key, v.text(x.get("path")), v.kind_of(x.get("kind")), *lines)
        for x in edits
    )
    return (out.Returned(key, ok, exit_code, at=at), *changes)


def _usage(usage: v.Data) -> Usage:
    """Return the token counts of Copilot: the input includes cached tokens."""
    given, written, cached, kept = v.counts(usage, *_TOKENS)
    return Usage(v.less(v.less(given, cached), kept), written, cached, kept)


def _result(message: v.Data) -> out.Items:
    took = v.count(v.mapping(message.get("usage")).get("sessionDurationMs"))
    exit_code = message.get("exitCode")
    return (
        out.Session(v.text(message.get("sessionId"))),
        out.Used(Usage(duration_ms=took), out.FigureSpan.SESSION),
        out.AgentEnded(failed=exit_code is not None and exit_code != 0),
    )
