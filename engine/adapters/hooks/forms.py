"""The content that `sprintlog hooks install` adds to each agent's configuration file.

Only events that report past actions are used, never events that wait for permission before
a tool runs: with these, sprintlog could slow the tool down or stop it.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError
from . import edits

_TIMEOUT_SECONDS = 5


HOOKS = "hooks"


class HookForm(edits.JsonForm, frozen=True):
    """A JSON file that contains a list of handlers for each event."""

    what = HOOKS
    key: str = "hooks"
    events: tuple[str, ...] = ()
    in_groups: bool = True
    """Whether an event contains groups of handlers rather than the handlers themselves."""
    handler: Mapping[str, Any] = {}
    """The fields of a handler in addition to its command."""
    command_key: str = "command"
    says_event: bool = False
    """Whether the event is passed as an argument, because the input does not state it."""

    def command(self, event: str) -> str:
        """Return the command that the agent calls; its exit status is always 0."""
        which = f" {event}" if self.says_event else ""
        return f"sprintlog hook {self.agent}{which} || true"

    def entry(self, event: str) -> dict[str, Any]:
        """Return the entry to add to an event's list."""
        handler = {**self.handler, self.command_key: self.command(event)}
        return {"hooks": [handler]} if self.in_groups else handler

    def names(self, text: str, *, file: str) -> list[str]:
        """Return the events that call sprintlog."""
        return [*self._ours(text, file=file)]

    def is_current(self, text: str, *, file: str) -> bool:
        """Return whether exactly this version's hooks are installed."""
        wanted = {name: [self.command(name)] for name in self.events}
        return self._ours(text, file=file) == wanted

    def fill(self, edit: edits.Edit) -> None:
        """Add sprintlog's entry to each event's list."""
        if self.held(edit.text) is None:
            edit.put(edits.root(edit.text), {}, key=self.key)
        for event in self.events:
            hooks = self.held(edit.text)
            assert hooks is not None
            if held := hooks.named(event):
                edit.put(edits.container(edit.text, held.value), self.entry(event))
            else:
                edit.put(hooks, [self.entry(event)], key=event)

    def emptied(self, text: str, *, file: str) -> str:
        """Return the text without sprintlog's handlers and any lists left empty."""
        for event in self.names(text, file=file):
            while found := self._first_of_ours(text, event):
                text = edits.taken_out(text, *found)
            hooks = self.held(text)
            held = hooks and hooks.named(event)
            if hooks and held and not edits.container(text, held.value).members:
                text = edits.taken_out(text, hooks, held)
        return text

    def _ours(self, text: str, *, file: str) -> dict[str, list[str]]:
        """Return sprintlog's commands by event, after checking that they are in lists."""
        found = self.checked(text, file=file)
        for name, held in found.items():
            if not isinstance(held, list) and name in self.events:
                field = f"hooks.{name}"[:100]
                raise InvalidInputError("is not a list", file=file, field=field)
        ours = {
            name: [
                handler[self.command_key]
                for entry in (held if isinstance(held, list) else ())
                for handler in self._handlers(entry)
                if self._is_ours(handler)
            ]
            for name, held in found.items()
        }
        return {name: said for name, said in ours.items() if said}

    def _handlers(self, entry: object) -> list[Any]:
        """Return the handlers in an entry of an event's list."""
        if not (self.in_groups and isinstance(entry, dict)):
            return [entry]
        handlers = entry.get("hooks")
        return handlers if isinstance(handlers, list) else []

    def _is_ours(self, handler: object) -> bool:
        """Return whether a handler calls sprintlog, in the current or an earlier format."""
        said = handler.get(self.command_key) if isinstance(handler, dict) else None
        ours = rf"(?:^|[\s/;&|])sprintlog hook {re.escape(self.agent)}(?:\s|$)"
        return isinstance(said, str) and bool(re.search(ours, said))

    def _first_of_ours(
        self, text: str, event: str
    ) -> tuple[edits.Container, edits.Member] | None:
        """Return sprintlog's first entry in an event's list, with its container."""
        hooks = self.held(text)
        held = hooks and hooks.named(event)
        if held is None or text[held.value] != "[":
            return None
        entries = edits.container(text, held.value)
        for entry in entries.members:
            handlers = self._handlers(
                edits.parsed(text[entry.start : entry.end], file=event)
            )
            ours = [n for n, one in enumerate(handlers) if self._is_ours(one)]
            if ours and len(handlers) == 1:
                return entries, entry
            if ours:
                group = edits.container(text, entry.start).named("hooks")
                assert group is not None
                around = edits.container(text, group.value)
                return around, around.members[ours[0]]
        return None


PLUGIN_MARK = "// Made by `sprintlog hooks install opencode`"


class PluginForm(edits.AgentFile, frozen=True):
    """A JavaScript plugin that an agent loads instead of hooks; sprintlog owns the file."""

    what = HOOKS
    events: tuple[str, ...] = ()

    def names(self, text: str, *, file: str) -> list[str]:
        """Return the plugin's events."""
        return [*self.events] if text.startswith(PLUGIN_MARK) else []

    def is_current(self, text: str, *, file: str) -> bool:
        """Return whether this version's plugin is installed."""
        return text == plugin()

    def install(self, text: str | None, *, file: str) -> edits.Edit:
        """Return the plugin; raise `RefusedError` if a third-party file exists."""
        if text is not None and not text.startswith(PLUGIN_MARK):
            raise InvalidInputError(
                "was not written by sprintlog, so it was not changed", file=file
            )
        edit = edits.Edit("")
        edit.append(plugin())
        return edit

    def without(self, text: str, *, file: str) -> str:
        """Return the unchanged text, because the complete file is removed."""
        return text

    def is_bare(self, text: str, *, file: str) -> bool:
        """Return whether the file belongs to sprintlog."""
        return not text.strip(edits.BLANK) or text.startswith(PLUGIN_MARK)


_COMMAND = {"type": "command"}
_SECONDS = {**_COMMAND, "timeout": _TIMEOUT_SECONDS}

FORMS: dict[str, HookForm | PluginForm] = {
    form.agent: form
    for form in (
        HookForm(
            "claude",
            ".claude/settings.json",
            "settings.json",
            ("CLAUDE_CONFIG_DIR", ".claude"),
            events=(
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
            events=(
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
            # The agent compacts before every turn, so the event has no meaning.
            events=("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
            handler={"name": "sprintlog", **_COMMAND, "timeout": _TIMEOUT_SECONDS * 1000},
        ),
        HookForm(
            "copilot",
            ".github/hooks/sprintlog.json",
            "hooks/sprintlog.json",
            ("COPILOT_HOME", ".copilot"),
            events=(
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
            events=(
                *("sessionStart", "beforeSubmitPrompt", "postToolUse"),
                *("postToolUseFailure", "subagentStop", "preCompact", "stop", "sessionEnd"),
            ),
            begins={"version": 1},
            in_groups=False,
            handler={"timeout": _TIMEOUT_SECONDS},
        ),
        PluginForm(
            "opencode",
            ".opencode/plugins/sprintlog.js",
            "opencode/plugins/sprintlog.js",
            ("XDG_CONFIG_HOME", ".config"),
            events=(
                *("session.created", "chat.message", "tool.execute.after"),
                *("session.compacted", "session.error", "session.idle"),
            ),
        ),
    )
}
"""The files by agent name."""


def plugin() -> str:
    """Return the plugin file for opencode, which loads plugins instead of hooks."""
    return Path(__file__).with_name("opencode_plugin.js").read_text(encoding="utf-8")
