"""`mcp` if it cannot serve."""

import importlib.util
import sys
from pathlib import Path

import pytest

from sprintlog.cli.agents import mcp
from sprintlog.engine import extras

from ..conftest import Run


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
