"""The briefing and the notes that hooks print for the agent."""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.agent_sessions.hook import Hooked
from sprintlog.engine.service.port import Envelope
from sprintlog.engine.service.prompts import passing_notes
from sprintlog.engine.sessions.events import SessionEvent, SessionStarted
from sprintlog.engine.sessions.work import WITHIN
from sprintlog.projections.text.briefing import LINES_MAX, briefing, without_tags

from .. import settings
from .beat import opened

_KEYS = dict.fromkeys(("codex", "gemini", "copilot"), "additionalContext")
_KEYS["cursor"] = "additional_context"
_PROMPTED = {"claude": "", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
"""The agents that add a hook's output to a prompt, with the name of the hook."""


def print_briefing(hooked: Hooked) -> None:
    """Print the briefing in the form that the session's agent adds to its context.

    Nothing is printed if the agent ignores the output of this event, if the setting
    `hooks.briefing` is 0 or false, or without a sprint.
    """
    agent = hooked.heard.stream.removeprefix("session/").partition("-")[0]
    event, text = hooked.heard.event, ""
    given = settings.setting("hooks.briefing")
    lines = LINES_MAX if given is None or given is True else min(int(given), LINES_MAX)
    # Copilot also runs Claude Code's hooks: the second one is a duplicate.
    is_repeated = agent == "copilot" and hooked.event is None
    if lines < 1 or is_repeated or in_form(agent, event, text) is None:
        return
    with suppress(SprintlogError), opened() as workspace:
        sprint = workspace.sprint(workspace.choose(os.environ.get("SPRINTLOG_SPRINT")))
        text = "\n".join(briefing(workspace, sprint, lines=lines))
    _print(f"{in_form(agent, event, text)}" if text else "")


def print_notes(hooked: Hooked) -> None:
    """Print the notes for the agent that are due, and record that they were passed on.

    Within `run`, its own prompts contain them.
    """
    event, agent = hooked.event, hooked.heard.stream.removeprefix("session/")
    agent = agent.partition("-")[0]
    if event is None or agent not in _PROMPTED or os.environ.get(WITHIN) == "run":
        return
    envelope: Envelope = {"actor": event.actor, "causation_id": event.id}
    envelope["correlation_id"] = event.correlation_id
    with suppress(SprintlogError), opened() as workspace:
        name = workspace.choose(os.environ.get("SPRINTLOG_SPRINT"))
        with passing_notes(workspace, name, hooked.heard.stream, **envelope) as part:
            if (text := without_tags(part)) and agent != "claude":
                said = {"hookEventName": _PROMPTED[agent], "additionalContext": text}
                text = json.dumps({"hookSpecificOutput": said})
            _print(text)


def _print(text: str) -> None:
    if text:
        sys.stdout.buffer.write(f"{text}\n".encode(errors="backslashreplace"))
        sys.stdout.buffer.flush()


def in_form(agent: str, event: SessionEvent | None, text: str) -> str | None:
    """Return the output that adds text to an agent's context at an event, or None.

    Claude Code also passes the output before a compaction to the model that summarizes;
    other agents ignore or reject it.
    """
    if agent == "claude":
        return text
    if not isinstance(event, SessionStarted) or agent not in _KEYS:
        return None
    said: dict[str, Any] = {_KEYS[agent]: text}
    if agent in ("codex", "gemini"):
        said = {"hookSpecificOutput": {"hookEventName": "SessionStart", **said}}
    return json.dumps(said)
