"""GitHub Copilot Chat in VS Code: the files of its chat sessions, by the source of 2026.

`chatSessions/ID.json` is one document. The lines of `ID.jsonl` are the document (kind 0),
then fields that are set (1) and entries added to a list, behind the first `i` of it (2).
"""

from sprintlog.usage import Usage

from . import items
from . import values as v

REQUESTS_MAX = 10_000
TEXT_CHARS_MAX = 64 * 1024
"""Of longer final words the end is kept."""
_COMPLETE, _CANCELED, _FAILED = 1, 2, 3
_DENIED = (False, {"type": 0})


class Chat:
    """Reads the lines of a session: a change names its request by an index."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._first = 0
        """Which part of the last response the first text is."""
        self._texts: list[str] = []
        """Its texts after the last tool call."""
        self._ended: items.Items = ()

    def __call__(self, message: v.Data) -> items.Items | None:
        """Return the items of a line or a document; None if it is not one of the chat's."""
        kind, path, value = message.get("kind"), message.get("k"), message.get("v")
        document = message if kind is None else v.mapping(value)
        if kind in (None, 0) and {"requests", "responderUsername"} <= document.keys():
            session = v.text(document.get("sessionId"))
            named = (items.Session(session),) if session else ()
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

    def _requests(self, listed: object, keep: int) -> items.Items:
        del self._ids[keep:]
        found: list[items.Item] = []
        for fields in v.objects(listed)[: REQUESTS_MAX - len(self._ids)]:
            self._ids.append(v.text(fields.get("requestId"))[:80] or f"#{len(self._ids)}")
            self._first, self._texts, self._ended = 0, [], ()
            found += self._fields(len(self._ids) - 1, fields, 0)
        return tuple(found)

    def _fields(self, index: int, fields: v.Data, keep: int | None) -> items.Items:
        """Return the items of some fields of a request."""
        key, result = self._ids[index], v.mapping(fields.get("result"))
        took = v.count(v.mapping(result.get("timings")).get("totalElapsed"))
        written = Usage(output_tokens=v.count(fields.get("completionTokens")))
        model = v.text(fields.get("modelId")).removeprefix("copilot/") or None
        found: list[items.Item] = []
        for span, one in (("CALL", written), ("TURN", Usage(duration_ms=took))):
            if model or one != Usage():
                at = items.FigureSpan[span]
                found.append(items.Used(one, at, key, model=model, is_unique=True))
        asked = fields.get("message")
        if prompt := v.text(asked) or v.text(v.mapping(asked).get("text")):
            found.append(items.Prompted(prompt, key))
        if index == len(self._ids) - 1:
            found += self._response(fields.get("response"), keep)
            self._ended = _ended(fields, result) or self._ended
            found += self._ended
        return tuple(found)

    def _response(self, parts: object, keep: int | None) -> list[items.Item]:
        found: list[items.Item] = []
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
        return [*found, items.Said(said)] if said else found


def _call(part: v.Data) -> items.Items:
    key, about = v.word(part, "toolCallId"), v.mapping(part.get("toolSpecificData"))
    command = v.text(v.mapping(about.get("commandLine")).get("original")) or v.command_of(
        about
    )
    by = v.word(part, "subAgentInvocationId")
    called = items.Called(key, v.text(part.get("toolId")), command, by)
    if part.get("isComplete") is not True:
        return (called,)
    state = v.mapping(about.get("terminalCommandState"))
    exit_code = v.integer(state.get("exitCode"))
    failed = v.mapping(part.get("resultDetails")).get("isError") is True
    failed = failed or part.get("isConfirmed") in _DENIED
    ok = False if failed else None if exit_code is None else exit_code == 0
    return (called, items.Returned(key, ok, exit_code, v.count(state.get("duration"))))


def _ended(fields: v.Data, result: v.Data) -> items.Items:
    state, error = (
        v.mapping(fields.get("modelState")).get("value"),
        result.get("errorDetails"),
    )
    if isinstance(error, dict) or state == _FAILED:
        return (items.failed(v.word(v.mapping(error), "message")),)
    if state == _CANCELED or fields.get("isCanceled") is True:
        return (items.STOPPED_BY_USER,)
    is_over = state == _COMPLETE or isinstance(fields.get("result"), dict)
    return (items.AgentEnded(),) if is_over else ()
