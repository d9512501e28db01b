"""`mcp` if it cannot serve, and its installation for agents."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from sprintlog.cli.agents import mcp
from sprintlog.engine import extras

from ..conftest import Run
from ..setup.test_hooks import home as home


def test_without_the_extra_it_says_what_to_install(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line and a working hint are printed; stdout is reserved for the protocol."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name in mcp.NEEDED else real(name)
    )
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    refused = run("mcp")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        "error: mcp, mcp_types: not installed, and the tools of MCP need it\n"
        "hint: `pip install 'mcp>=2.3,<3'`\n"
    )


def test_tools_are_installed_beside_hooks(
    sprint: Path, home: Path, done: Run, run: Run
) -> None:
    """Each has a separate entry and can be removed alone; `uninstall` finds both."""
    told = done("hooks", "install", "claude", "--mcp")
    assert told.out == f"installed the server of claude in {sprint / '.mcp.json'}\n"
    assert "claude --mcp-config .mcp.json" in told.err
    assert "is installed already" in done("hooks", "install", "claude", "--mcp").out
    done("hooks", "install", "claude")
    found = done("hooks", "status", "claude", "--json").json["hooks"]
    there = [(x["what"], x["scope"]) for x in found if x["state"] == "installed"]
    assert there == [("hooks", "project"), ("mcp", "project")]
    listed = done("uninstall", "--dry-run").out
    assert f"server of claude in {sprint / '.mcp.json'}" in listed
    assert "hook of claude" in listed
    done("hooks", "uninstall", "claude", "--mcp")
    assert not (sprint / ".mcp.json").exists()
    assert (sprint / ".claude" / "settings.json").exists()


def test_a_file_of_somebody_keeps_its_bytes(sprint: Path, home: Path, done: Run) -> None:
    """Even in the home, other servers and all other content stay, and are restored."""
    file = home / ".claude.json"
    file.write_text('{"projects":{},  "mcpServers":{"x":{"command":"y"}}}')
    before = file.read_bytes()
    done("hooks", "install", "claude", "--mcp", "--scope", "user")
    servers = json.loads(file.read_text())["mcpServers"]
    assert servers["x"] == {"command": "y"}
    assert servers["sprintlog"] == {"command": "sprintlog", "args": ["mcp"]}
    done("hooks", "uninstall", "claude", "--mcp", "--scope", "user")
    assert file.read_bytes() == before
