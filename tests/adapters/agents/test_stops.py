"""How each agent states that its user stopped it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import read_answer
from sprintlog.engine.usage import Usage

FIXTURES = Path(__file__).parents[3] / "fixtures" / "agents"
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
    """Each agent reports the stop in its own format; a later answer replaces it."""
    stops = "\n".join(map(json.dumps, STOPS[name])) + "\n"
    assert read_answer(stops.encode()).is_stopped
    later = {"type": "result", "subtype": "success", "result": "done"}
    assert (
        name in ("codex", "pi")
        or not read_answer((stops + json.dumps(later)).encode()).is_stopped
    )


def test_an_aborted_call_makes_figures_lower_bounds() -> None:
    """A call that Pi aborted states zeros: the model worked, but its figures never arrived.

    The run was cut short before its usage was complete, so the figures of the earlier calls
    are lower bounds for the run: tokens, cache and cost alike.
    """
    answer = read_answer((FIXTURES / "pi-aborted.jsonl").read_bytes())
    assert answer.error == "Request was aborted."
    assert answer.usage == Usage(
        input_tokens=120,
        output_tokens=40,
        cache_read_tokens=1000,
        cache_creation_tokens=30,
        cost_usd=0.0013,
        at_least=(
            *("cache_creation_tokens", "cache_read_tokens", "cost_usd"),
            *("input_tokens", "output_tokens"),
        ),
    )
