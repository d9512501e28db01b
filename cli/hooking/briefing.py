"""The briefing that a hook prints for the agent at the start of a session."""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.agent_sessions.hook import Hooked
from sprintlog.engine.sessions.events import SessionEvent, SessionStarted
from sprintlog.projections.text.briefing import LINES_MAX, briefing

from .. import settings
from .beat import opened

_KEYS = dict.fromkeys(("codex", "gemini", "copilot"), "additionalContext")
_KEYS["cursor"] = "additional_context"


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
    if text:
        said = f"{in_form(agent, event, text)}\n".encode(errors="backslashreplace")
        sys.stdout.buffer.write(said)
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
