"""How each agent states that its user stopped it."""

import json
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import hear

CALLS = {
    "type": "assistant",
    "sessionId": "s",
    "message": {"content": [{"type": "tool_use", "id": "c", "name": "Bash"}]},
}
STOPS: dict[str, list[Any]] = {
    "claude": [
        CALLS,
        {
            "type": "user",
            "sessionId": "s",
            "message": {
                "content": [{"type": "text", "text": "[Request interrupted by user]"}]
            },
        },
    ],
    "claude at a tool": [
        CALLS,
        {
            "type": "user",
            "sessionId": "s",
            "message": {"content": "[Request interrupted by user for tool use]"},
        },
        {"type": "result", "is_error": True, "subtype": "error_during_execution"},
    ],
    "codex": [
        {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}
    ],
    "pi": [
        {
            "type": "message_end",
            "message": {"role": "assistant", "content": [], "stopReason": "aborted"},
        }
    ],
    "opencode": [
        {"type": "error", "sessionID": "s", "error": {"name": "MessageAbortedError"}}
    ],
}


@pytest.mark.parametrize("name", STOPS)
def test_the_stop_of_a_user_is_recognised(name: str) -> None:
    """It is stated in the words of each agent; a later answer of the agent replaces it."""
    stops = "\n".join(map(json.dumps, STOPS[name])) + "\n"
    assert hear(stops.encode()).is_stopped
    later = {"type": "result", "subtype": "success", "result": "done"}
    assert (
        name in ("codex", "pi") or not hear((stops + json.dumps(later)).encode()).is_stopped
    )
