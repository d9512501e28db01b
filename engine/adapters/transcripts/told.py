"""The calls of a session as what is read tells of them, one by one."""

import re
import shlex

import msgspec

from ...sessions.events import FILES_MAX, ToolCalled, TouchedFile
from ..agents.items import Called, FileChanged, Item, Returned
from .hook_calls import HookPlace, call_in

CALLS_MAX = 100_000
"""So many calls of a session are compared; no session has more events."""
_WORDS_CHARS_MAX = 64 * 1024


class KeptCall(msgspec.Struct):
    """A call that something else than a hook tells of."""

    call: ToolCalled
    at: str | None = None
    """When it ended, else when it began; the agent's own clock."""


class CallsTold:
    """Takes what is said, and keeps the calls in it."""

    def __init__(self, agent: str, place: HookPlace, *, found_in: str) -> None:
        self._agent = agent
        self._place = place
        self._found_in = found_in
        self.calls: dict[str, KeptCall] = {}
        """By the id that they have where they are told, in their order."""

    def take(self, item: Item) -> None:
        """Take the next item; what is of no call is passed over."""
        if isinstance(item, Called):
            self._called(item)
        elif isinstance(item, Returned | FileChanged) and item.key in self.calls:
            kept = self.calls[str(item.key)]
            if isinstance(item, Returned):
                kept.call = _returned(kept.call, item)
                kept.at = item.at or kept.at
            else:
                kept.call = self._changed(kept.call, item)

    def _called(self, item: Called) -> None:
        if item.key is None or item.key in self.calls or len(self.calls) >= CALLS_MAX:
            return
        # The stream of Codex counts its calls, and does not say what they were given.
        is_counted = self._agent == "codex" and item.given is None
        given = {"command": _inner(item.command)} if is_counted else item.given
        message = {
            "tool_name": item.tool,
            "tool_use_id": None if is_counted else item.key,
            "tool_input": given,
            "agent_id": item.by,
        }
        call = call_in(message, self._agent, self._place, failed=False)
        call = msgspec.structs.replace(
            call,
            ok=None,
            is_unfinished=True,
            found_in=self._found_in,
            input_sha256=None if is_counted else call.input_sha256,
        )
        self.calls[item.key] = KeptCall(call, item.at)

    def _changed(self, call: ToolCalled, item: FileChanged) -> ToolCalled:
        path = self._place.shown(item.path)
        others = [x for x in call.files if x.path != path]
        file = TouchedFile(path, item.kind, item.added, item.removed)
        return msgspec.structs.replace(call, files=(*others, file)[:FILES_MAX])


def _returned(call: ToolCalled, item: Returned) -> ToolCalled:
    """Return a call with what is said of its end; said again, it is said better."""
    return msgspec.structs.replace(
        call,
        is_unfinished=False,
        ok=call.ok if item.ok is None else item.ok,
        exit_code=call.exit_code if item.exit_code is None else item.exit_code,
        duration_ms=call.duration_ms if item.duration_ms is None else item.duration_ms,
    )


def _inner(command: str | None) -> str | None:
    """Return what a shell was told to run, where a command says that one was."""
    shell = re.match(r"(?:/\S+/)?(?:ba|z|da)?sh -l?c ", command or "")
    if command is None or shell is None or len(command) > _WORDS_CHARS_MAX:
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command
