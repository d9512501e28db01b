"""Adds sprintlog's MCP server to an agent's configuration file, and removes it.

All other text remains unchanged, as in `edits`.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from ...errors import InvalidInputError
from .edits import BLANK, AgentFile, Edit, JsonForm, TextSpan, cut, root, taken_out

MCP = "mcp"
NAME = "sprintlog"
_COMMAND = {"command": "sprintlog", "args": ["mcp"]}
_TABLE = f"[mcp_servers.{NAME}]"
_BLOCK = f'{_TABLE}\ncommand = "sprintlog"\nargs = ["mcp"]\n'
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_OURS = re.compile(
    rf"^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:{NAME}|\"{NAME}\")[ \t]*[\].]",
    re.MULTILINE,
)


class McpForm(JsonForm, frozen=True):
    """A JSON file with an object that contains servers by name."""

    what = MCP
    key: str = "mcpServers"
    entry: Mapping[str, Any] = msgspec.field(default_factory=_COMMAND.copy)

    def names(self, text: str, *, file: str) -> list[str]:
        """Return the name of sprintlog's server if it is installed."""
        return [NAME] if NAME in self._servers(text, file=file) else []

    def is_current(self, text: str, *, file: str) -> bool:
        """Return whether exactly this version's entry is installed."""
        return bool(self._servers(text, file=file).get(NAME) == self.entry)

    def fill(self, edit: Edit) -> None:
        """Add sprintlog's server after third-party servers."""
        if (held := self.held(edit.text)) is not None:
            edit.put(held, dict(self.entry), key=NAME)
        else:
            edit.put(root(edit.text), {NAME: dict(self.entry)}, key=self.key)

    def emptied(self, text: str, *, file: str) -> str:
        """Return the text without sprintlog's server."""
        servers = self.held(text)
        ours = servers and servers.named(NAME)
        assert servers is not None
        assert ours is not None
        return taken_out(text, servers, ours)

    def _servers(self, text: str, *, file: str) -> dict[str, Any]:
        return self.checked(text, file=file, only=NAME) if text.strip(BLANK) else {}


class McpTomlForm(AgentFile, frozen=True):
    """A TOML file with a table for each server."""

    what = MCP
    key: str = "mcp_servers"

    def names(self, text: str, *, file: str) -> list[str]:
        """Return the name of sprintlog's server if it is installed."""
        return [NAME] if NAME in self._servers(text, file=file) else []

    def is_current(self, text: str, *, file: str) -> bool:
        """Return whether exactly this version's entry is installed."""
        return bool(self._servers(text, file=file).get(NAME) == _COMMAND)

    def install(self, text: str | None, *, file: str) -> Edit:
        """Return the text with sprintlog's table at its end."""
        edit = Edit(self.without(text or "", file=file))
        has_text, has_end = edit.text.strip(), edit.text.endswith("\n")
        edit.append(("" if not has_text else "\n" if has_end else "\n\n") + _BLOCK)
        return edit

    def without(self, text: str, *, file: str) -> str:
        """Return the text without sprintlog's tables.

        Raise `InvalidInputError` if the tables were edited by hand.
        """
        if not self.names(text, file=file):
            return text
        rest = text
        while found := _OURS.search(rest):
            following = _HEADER.search(rest, found.end())
            end = following.start() if following else len(rest)
            start = found.start()
            if end == len(rest) and rest[:start].endswith("\n\n"):
                start -= 1
            rest = cut(rest, [TextSpan(start, end)])
        wanted = _toml(text, file=file)
        wanted[self.key].pop(NAME)
        if not wanted[self.key]:
            wanted.pop(self.key)
        if _toml(rest, file=file) != wanted:
            raise InvalidInputError(
                "the entry of the sprintlog server was edited by hand, so it was not "
                "changed",
                hint=f"remove `{_TABLE}` by hand",
                file=file,
            )
        return rest

    def is_bare(self, text: str, *, file: str) -> bool:
        """Return whether the text is empty."""
        return not text.strip(BLANK)

    def _servers(self, text: str, *, file: str) -> dict[str, Any]:
        servers = _toml(text, file=file).get(self.key, {}) if text.strip(BLANK) else {}
        if not isinstance(servers, dict):
            raise InvalidInputError("is not an object", file=file, field=self.key)
        return servers


MCP_FORMS: dict[str, McpForm | McpTomlForm] = {
    form.agent: form
    for form in (
        McpForm("claude", ".mcp.json", ".claude.json", ("CLAUDE_CONFIG_DIR", "")),
        McpTomlForm(
            *("codex", ".codex/config.toml", "config.toml", ("CODEX_HOME", ".codex"))
        ),
        McpForm(
            *("gemini", ".gemini/settings.json", ".gemini/settings.json"),
            ("GEMINI_CLI_HOME", ""),
        ),
        McpForm(
            *("copilot", ".github/mcp.json", "mcp-config.json"),
            ("COPILOT_HOME", ".copilot"),
            entry={"type": "local", **_COMMAND, "tools": ["*"]},
        ),
        McpForm("cursor", ".cursor/mcp.json", ".cursor/mcp.json", ("", "")),
        McpForm(
            *("opencode", "opencode.json", "opencode/opencode.json"),
            ("XDG_CONFIG_HOME", ".config"),
            key="mcp",
            entry={"type": "local", "command": ["sprintlog", "mcp"], "enabled": True},
            begins={"$schema": "https://opencode.ai/config.json"},
        ),
    )
}
"""The files by agent name."""


def _toml(text: str, *, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"is not TOML: {error}", file=file) from error
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply", file=file) from error
