"""The entry of our MCP server in the text of an agent's file, added and removed.

As with hooks in `edits`, the rest of the file is unchanged.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import InvalidInputError
from .edits import (
    Container,
    Edit,
    Member,
    TextSpan,
    container,
    cut,
    parsed,
    put,
    root,
    taken_out,
)

NAME = "sprintlog"
_COMMAND = {"command": "sprintlog", "args": ["mcp"]}
_BLANK = "\ufeff \t\r\n"
_TABLE = f"[mcp_servers.{NAME}]"
_BLOCK = f'{_TABLE}\ncommand = "sprintlog"\nargs = ["mcp"]\n'
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_OURS = re.compile(
    rf"^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:{NAME}|\"{NAME}\")[ \t]*[\].]",
    re.MULTILINE,
)


class McpForm(NamedTuple):
    """One agent's file of MCP servers, and the content to install."""

    agent: str
    project: str
    """The file, below the project's root."""
    user: str
    """The file, below the folder that `home` says."""
    home: tuple[str, str]
    """The variable that names the agent's own folder, and the folder without it."""
    key: str = "mcpServers"
    """The object that has a server by each name."""
    entry: Mapping[str, Any] = _COMMAND
    begins: Mapping[str, Any] = {}
    """What a new file begins with."""
    is_toml: bool = False


MCP_FORMS: dict[str, McpForm] = {
    form.agent: form
    for form in (
        McpForm("claude", ".mcp.json", ".claude.json", ("CLAUDE_CONFIG_DIR", "")),
        McpForm(
            *("codex", ".codex/config.toml", "config.toml", ("CODEX_HOME", ".codex")),
            key="mcp_servers",
            is_toml=True,
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
"""By the name of the agent."""


def there(text: str | None, form: McpForm, *, file: str) -> list[str]:
    """Return the name of our server if it is installed; raise `InvalidInputError`."""
    if text is None or not text.strip(_BLANK):
        return []
    return [NAME] if NAME in _servers(text, form, file=file) else []


def is_current(text: str | None, form: McpForm, *, file: str) -> bool:
    """Return whether exactly the entry of this version is installed."""
    if text is None or not text.strip(_BLANK):
        return False
    wanted = _COMMAND if form.is_toml else form.entry
    found: object = _servers(text, form, file=file).get(NAME)
    return found == wanted


def install(text: str | None, form: McpForm, *, file: str) -> Edit:
    """Return a text with our server, once, after third-party servers."""
    if text is not None and text.strip(_BLANK):
        text = without(text, form, file=file)
    if form.is_toml:
        before = text or ""
        gap = "" if not before.strip() else "\n" if before.endswith("\n") else "\n\n"
        return Edit(
            before + gap + _BLOCK, [TextSpan(len(before), len(before + gap + _BLOCK))]
        )
    if text is None or not text.strip(_BLANK):
        begin = text or ""
        text = begin + "{}\n"
        for key, value in form.begins.items():
            text, _ = put(text, root(text), value, key=key)
        text, _ = put(text, root(text), {NAME: dict(form.entry)}, key=form.key)
        return Edit(text, [TextSpan(len(begin), len(text))])
    if (held := root(text).named(form.key)) is None:
        text, span = put(text, root(text), {NAME: dict(form.entry)}, key=form.key)
    else:
        into = container(text, held.value)
        text, span = put(text, into, dict(form.entry), key=NAME)
    return Edit(text, [span])


def without(text: str, form: McpForm, *, file: str) -> str:
    """Return a text without our server, and without what that leaves empty."""
    if not there(text, form, file=file):
        return text
    if form.is_toml:
        return _without_table(text, form, file=file)
    servers = _members(text, form)
    (ours,) = [one for one in servers.members if one.key == NAME]
    text = taken_out(text, servers, ours)
    held = root(text).named(form.key)
    if held is not None and not container(text, held.value).members:
        text = taken_out(text, root(text), held)
    return text


def is_bare(text: str, form: McpForm, *, file: str) -> bool:
    """Return whether a text equals a new file without our server."""
    if not text.strip(_BLANK):
        return True
    return not form.is_toml and parsed(text, file=file) in ({}, form.begins)


def _servers(text: str, form: McpForm, *, file: str) -> Mapping[str, Any]:
    """Return the servers that a text has, by their names."""
    said = _toml(text, file=file) if form.is_toml else parsed(text, file=file)
    if not isinstance(said, dict):
        raise InvalidInputError("is no JSON object", file=file)
    servers = said.get(form.key, {})
    if not isinstance(servers, dict):
        raise InvalidInputError("is no object", file=file, field=form.key)
    if not form.is_toml and form.key in said:
        _refuse_twice(root(text), form.key, file=file)
        _refuse_twice(_members(text, form), NAME, file=file)
    return servers


def _members(text: str, form: McpForm) -> Container:
    held = root(text).named(form.key)
    assert held is not None
    return container(text, held.value)


def _refuse_twice(found: Container, key: str, *, file: str) -> None:
    same: list[Member] = [one for one in found.members if one.key == key]
    if len(same) > 1:
        raise InvalidInputError("is there twice", file=file, field=key)


def _toml(text: str, *, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"is not TOML: {error}", file=file) from error
    except RecursionError as error:
        raise InvalidInputError("is nested too deep", file=file) from error


def _without_table(text: str, form: McpForm, *, file: str) -> str:
    """Return a text without our tables; raise `InvalidInputError` for another notation."""
    rest = text
    while found := _OURS.search(rest):
        following = _HEADER.search(rest, found.end())
        end = following.start() if following else len(rest)
        start = found.start()
        if end == len(rest) and rest[:start].endswith("\n\n"):
            start -= 1
        rest = cut(rest, [TextSpan(start, end)])
    wanted = _toml(text, file=file)
    wanted[form.key].pop(NAME)
    if not wanted[form.key]:
        wanted.pop(form.key)
    if _toml(rest, file=file) != wanted:
        raise InvalidInputError(
            "our server is written there in a way of its own, and stays",
            hint=f"take `{_TABLE}` out by hand",
            file=file,
        )
    return rest
