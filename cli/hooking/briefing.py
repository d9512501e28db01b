"""The briefing that a hook prints for the agent at the start of a session."""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.sessions.events import ContextCompacted, SessionEvent, SessionStarted
from sprintlog.projections.text.briefing import LINES_MAX, briefing

from .. import settings
from .beat import opened


def print_briefing(stream: str, event: SessionEvent) -> None:
    """Print the briefing in the form that the session's agent adds to its context.

    Nothing is printed if the agent ignores the output of this event, if the setting
    `hooks.briefing` is 0 or false, or if there is no sprint.
    """
    agent = stream.removeprefix("session/").partition("-")[0]
    text, given = "", settings.setting("hooks.briefing")
    lines = LINES_MAX if given is None or given is True else min(int(given), LINES_MAX)
    if lines < 1 or in_form(agent, event, text) is None:
        return
    with suppress(SprintlogError), opened() as workspace:
        sprint = workspace.sprint(workspace.choose(os.environ.get("SPRINTLOG_SPRINT")))
        text = "\n".join(briefing(workspace, sprint, lines=lines))
    if text:
        said = f"{in_form(agent, event, text)}\n".encode(errors="backslashreplace")
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()


def in_form(agent: str, event: SessionEvent, text: str) -> str | None:
    """Return the output that adds text to an agent's context at an event, or None.

    Claude Code also passes the output before a compaction to the model that summarizes;
    other agents ignore or reject it.
    """
    if agent == "claude" and isinstance(event, SessionStarted | ContextCompacted):
        return text
    own = {"hookEventName": "SessionStart", "additionalContext": text}
    forms: dict[str, dict[str, Any]] = {
        "codex": {"hookSpecificOutput": own},
        "gemini": {"hookSpecificOutput": own},
        "copilot": {"additionalContext": text},
        "cursor": {"additional_context": text},
    }
    if agent not in forms or not isinstance(event, SessionStarted):
        return None
    return json.dumps(forms[agent])
