"""GitHub Copilot: the output of its CLI, and the chat sessions of VS Code.

`copilot --output-format json` prints a line for each event. Its last line contains neither
text nor tokens: the text is in earlier messages, and the tokens are in the file
`events.jsonl`, which contains the same events but no result.

In VS Code, `chatSessions/ID.json` is one document. The lines of `ID.jsonl` are the document
(kind 0), followed by assignments to fields (1) and entries to insert into a list after its
first `i` entries (2).
"""

from sprintlog.usage import Usage, known_sum

from . import items as out
from . import values as v

REQUESTS_MAX = 10_000
TEXT_CHARS_MAX = 64 * 1024
"""The maximum length of the final text; only the end of a longer text is kept."""
_COMPLETE, _CANCELED, _FAILED = 1, 2, 3
_DENIED = (False, {"type": 0})


class Chat:
    """Reads the lines of a chat session, in which changes refer to requests by index."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._first = 0
        """The index of the first text in the parts of the last response."""
        self._texts: list[str] = []
        """The texts after the last tool call."""
        self._ended: out.Items = ()

    def __call__(self, message: v.Data) -> out.Items | None:
        """Return the items in a line or a document; None if it is not part of a chat."""
        kind, path, value = message.get("kind"), message.get("k"), message.get("v")
        document = message if kind is None else v.mapping(value)
        if kind in (None, 0) and {"requests", "responderUsername"} <= document.keys():
            session = v.text(document.get("sessionId"))
            named = (out.Session(session),) if session else ()
            return (*named, *self._requests(document.get("requests"), 0))
        if kind not in (1, 2, 3) or not isinstance(path, list) or not path:
            return None
        keep = v.count(message.get("i")) if kind == 2 else None
        match path:
            case ["requests"] if kind == 2:
                return self._requests(value, len(self._ids) if keep is None else keep)
            case ["requests", int(index), str(name)] if 0 <= index < len(self._ids):
                return self._fields(index, {name: value}, keep if kind == 2 else 0)
        return ()

    def _requests(self, listed: object, keep: int) -> out.Items:
        del self._ids[keep:]
        found: list[out.Item] = []
        for fields in v.objects(listed)[: REQUESTS_MAX - len(self._ids)]:
            self._ids.append(v.text(fields.get("requestId"))[:80] or f"#{len(self._ids)}")
            self._first, self._texts, self._ended = 0, [], ()
            found += self._fields(len(self._ids) - 1, fields, 0)
        return tuple(found)

    def _fields(self, index: int, fields: v.Data, keep: int | None) -> out.Items:
        """Return the items in the given fields of a request."""
        key, result = self._ids[index], v.inner(fields, "result")
        took = v.count(v.inner(result, "timings").get("totalElapsed"))
        written = Usage(output_tokens=v.count(fields.get("completionTokens")))
        model = v.text(fields.get("modelId")).removeprefix("copilot/") or None
        found: list[out.Item] = []
        for span, one in (("CALL", written), ("TURN", Usage(duration_ms=took))):
            if model or one != Usage():
                at = out.FigureSpan[span]
                found.append(out.Used(one, at, key, model=model, is_unique=True))
        asked = fields.get("message")
        if prompt := v.text(asked) or v.text(v.mapping(asked).get("text")):
            found.append(out.Prompted(prompt, key))
        if index == len(self._ids) - 1:
            found += self._response(fields.get("response"), keep)
            self._ended = _ended(fields, result) or self._ended
            found += self._ended
        return tuple(found)

    def _response(self, parts: object, keep: int | None) -> list[out.Item]:
        found: list[out.Item] = []
        if keep is not None and isinstance(parts, list):
            del self._texts[max(keep - self._first, 0) :]
            self._first = min(self._first, keep)
        for part in v.objects(parts):
            if part.get("kind") == "toolInvocationSerialized":
                found += _call(part)
                self._first, self._texts = self._first + len(self._texts) + 1, []
            else:
                self._texts.append("" if "kind" in part else v.text(part.get("value")))
        said = "".join(self._texts)
        if len(said) > TEXT_CHARS_MAX or len(self._texts) > REQUESTS_MAX:
            said = said[-TEXT_CHARS_MAX:]
            self._first, self._texts = self._first + len(self._texts) - 1, [said]
        return [*found, out.Said(said)] if said else found


def _call(part: v.Data) -> out.Items:
    key, about = v.word(part, "toolCallId"), v.inner(part, "toolSpecificData")
    command = v.text(v.inner(about, "commandLine").get("original")) or v.command_of(about)
    by = v.word(part, "subAgentInvocationId")
    called = out.Called(key, v.text(part.get("toolId")), command, by)
    if part.get("isComplete") is not True:
        return (called,)
    state = v.inner(about, "terminalCommandState")
    exit_code = v.integer(state.get("exitCode"))
    failed = v.inner(part, "resultDetails").get("isError") is True
    failed = failed or part.get("isConfirmed") in _DENIED
    ok = False if failed else None if exit_code is None else exit_code == 0
    return (called, out.Returned(key, ok, exit_code, v.count(state.get("duration"))))


def _ended(fields: v.Data, result: v.Data) -> out.Items:
    state, error = (v.inner(fields, "modelState").get("value"), result.get("errorDetails"))
    if isinstance(error, dict) or state == _FAILED:
        return (out.failed(v.word(v.mapping(error), "message")),)
    if state == _CANCELED or fields.get("isCanceled") is True:
        return (out.STOPPED_BY_USER,)
    is_over = state == _COMPLETE or isinstance(fields.get("result"), dict)
    return (out.AgentEnded(),) if is_over else ()


_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def read(message: v.Data) -> out.Items | None:
    """Return the items in a line; None if it is not a Copilot line."""
    kind = v.text(message.get("type"))
    if kind == "result" and {"exitCode", "sessionId"} & message.keys():
        return _result(message)
    if "." not in kind or not isinstance(message.get("data"), dict):
        return None
    data, at = v.inner(message, "data"), v.word(message, "timestamp")
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
        usage = v.inner(data, "usage")
        model = v.word(usage, "model")
        return (out.Used(_usage(usage), out.FigureSpan.CALL, key, model=model),)
    if kind != "session.shutdown":
        return ()
    models = v.objects(list(v.inner(data, "modelMetrics").values()))
    used = known_sum(_usage(v.inner(model, "usage")) for model in models)
    ended = out.AgentEnded(failed=data.get("shutdownType") == "error")
    return (out.Used(used, out.FigureSpan.SESSION), ended)


def _message(data: v.Data, by: str | None, at: str | None) -> out.Items:
    said = v.text(data.get("content"))
    items: list[out.Item] = [out.Said(said)] if said and by is None else []
    for call in v.objects(data.get("toolRequests")):
        key, given = v.word(call, "toolCallId"), v.inner(call, "arguments")
        items.append(v.called(key, v.text(call.get("name")), given, by=by, at=at))
    if model := v.text(data.get("model")):
        items.append(out.Used(Usage(), out.FigureSpan.CALL, model=model))
    return tuple(items)


def _tool(data: v.Data, by: str | None, at: str | None, *, is_over: bool) -> out.Items:
    key = v.word(data, "toolCallId")
    if not is_over:
        tool, given = v.text(data.get("toolName")), v.inner(data, "arguments")
        return (v.called(key, tool, given, by=by, at=at),)
    exit_code = v.integer(v.inner(data, "shellExecution").get("exitCode"))
    # A failed command is reported as a success.
    ok = data.get("success") is True and exit_code in (None, 0)
    edits = [one for one in v.objects(data.get("fileEdits")) if v.text(one.get("path"))]
    diff = v.text(v.inner(data, "result").get("detailedContent"))
    lines = v.lines_of_diff(diff.split("\n")) if len(edits) == 1 and diff else (None, None)
    changes = (
        out.FileChanged(key, v.text(x.get("path")), v.kind_of(x.get("kind")), *lines)
        for x in edits
    )
    return (out.Returned(key, ok, exit_code, at=at), *changes)


def _usage(usage: v.Data) -> Usage:
    """Return the token counts reported by Copilot, whose input includes cached tokens."""
    given, written, cached, kept = v.counts(usage, *_TOKENS)
    return Usage(v.less(v.less(given, cached), kept), written, cached, kept)


def _result(message: v.Data) -> out.Items:
    took = v.count(v.inner(message, "usage").get("sessionDurationMs"))
    exit_code = message.get("exitCode")
    return (
        out.Session(v.text(message.get("sessionId"))),
        out.Used(Usage(duration_ms=took), out.FigureSpan.SESSION),
        out.AgentEnded(failed=exit_code is not None and exit_code != 0),
    )
