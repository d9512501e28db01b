"""The content that `sprintlog hooks install` adds to each agent's configuration file.

Only events that report past actions are used, never one that waits for permission before a
tool runs: we would slow the tool down, or stop it.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

_TIMEOUT_SECONDS = 5


class HookForm(NamedTuple):
    """One agent's file, and the content to install."""

    agent: str
    project: str
    """The file, below the project's root."""
    user: str
    """The file, below the folder that `home` says."""
    home: tuple[str, str]
    """The variable that names the agent's own folder, and the folder without it."""
    events: tuple[str, ...]
    begins: Mapping[str, Any] = {}
    """What a new file begins with."""
    in_groups: bool = True
    """Whether an event has groups of handlers, or the handlers themselves."""
    handler: Mapping[str, Any] = {}
    """What a handler has beside its command."""
    command_key: str = "command"
    is_plugin: bool = False
    """Whether the file is a plugin in JavaScript that the agent loads, instead of JSON."""
    says_event: bool = False
    """Whether the event is an argument, since the input does not have it."""

    def command(self, event: str) -> str:
        """Return the command that the agent calls; its exit status is always 0."""
        which = f" {event}" if self.says_event else ""
        return f"sprintlog hook {self.agent}{which} || true"

    def entry(self, event: str) -> dict[str, Any]:
        """Return the entry in an event's list."""
        handler = {**self.handler, self.command_key: self.command(event)}
        return {"hooks": [handler]} if self.in_groups else handler

    def is_ours(self, handler: object) -> bool:
        """Return whether a handler calls us, in this form or an earlier one."""
        if not isinstance(handler, dict):
            return False
        said = handler.get(self.command_key)
        return isinstance(said, str) and bool(self._ours.search(said))

    @property
    def _ours(self) -> re.Pattern[str]:
        return re.compile(rf"(?:^|[\s/;&|]){_PROGRAM} hook {re.escape(self.agent)}(?:\s|$)")


_PROGRAM = "sprintlog"
_COMMAND = {"type": "command"}
_SECONDS = {**_COMMAND, "timeout": _TIMEOUT_SECONDS}

FORMS: dict[str, HookForm] = {
    form.agent: form
    for form in (
        HookForm(
            "claude",
            ".claude/settings.json",
            "settings.json",
            ("CLAUDE_CONFIG_DIR", ".claude"),
            (
                *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
                *("SubagentStop", "Stop", "StopFailure", "PreCompact", "SessionEnd"),
            ),
            handler=_SECONDS,
        ),
        HookForm(
            "codex",
            ".codex/hooks.json",
            "hooks.json",
            ("CODEX_HOME", ".codex"),
            (
                *("SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStop"),
                *("PreCompact", "Stop", "SessionEnd"),
            ),
            # Of two more seconds at the end of a session codex would make three.
            handler=_COMMAND | {"timeout": 3},
        ),
        HookForm(
            "gemini",
            ".gemini/settings.json",
            ".gemini/settings.json",
            ("GEMINI_CLI_HOME", ""),
            # It compacts before every turn, so the event means nothing.
            ("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
            handler={"name": "sprintlog", **_COMMAND, "timeout": _TIMEOUT_SECONDS * 1000},
        ),
        HookForm(
            "copilot",
            ".github/hooks/sprintlog.json",
            "hooks/sprintlog.json",
            ("COPILOT_HOME", ".copilot"),
            (
                *("sessionStart", "userPromptSubmitted", "postToolUse"),
                *("postToolUseFailure", "subagentStop", "agentStop", "errorOccurred"),
                "sessionEnd",
            ),
            begins={"version": 1},
            in_groups=False,
            handler=_COMMAND | {"timeoutSec": _TIMEOUT_SECONDS},
            command_key="bash",
            says_event=True,
        ),
        HookForm(
            "cursor",
            ".cursor/hooks.json",
            ".cursor/hooks.json",
            ("", ""),
            (
                *("sessionStart", "beforeSubmitPrompt", "postToolUse"),
                *("postToolUseFailure", "subagentStop", "preCompact", "stop", "sessionEnd"),
            ),
            begins={"version": 1},
            in_groups=False,
            handler={"timeout": _TIMEOUT_SECONDS},
        ),
        HookForm(
            "opencode",
            ".opencode/plugins/sprintlog.js",
            "opencode/plugins/sprintlog.js",
            ("XDG_CONFIG_HOME", ".config"),
            (
                *("session.created", "chat.message", "tool.execute.after"),
                *("session.compacted", "session.error", "session.idle"),
            ),
            is_plugin=True,
        ),
    )
}
"""By the name of the agent."""

PLUGIN_MARK = "// Made by `sprintlog hooks install opencode`"


def plugin() -> str:
    """Return the file of the one agent that has no hooks, but loads plugins."""
    return Path(__file__).with_name("opencode_plugin.js").read_text(encoding="utf-8")
