"""Obstacles that prevent an agent from calling its hooks are reported, with a remedy."""

import json
from pathlib import Path

import pytest

from sprintlog.engine.adapters.hooks.files import HookLocation
from sprintlog.engine.adapters.hooks.preconditions import covered_by, hindrances


@pytest.fixture
def around(tmp_path: Path) -> HookLocation:
    """Return a project and a home, with sprintlog's program on the PATH."""
    program = tmp_path / "bin" / "sprintlog"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (project := tmp_path / "shop").mkdir()
    return HookLocation(project, tmp_path / "home", {"PATH": str(program.parent)})


def said(around: HookLocation, agent: str, scope: str = "project") -> str:
    """Return all messages about an agent's hooks."""
    found = hindrances(around.file(agent, scope), around)
    return "\n".join(f"{one.says} -> {one.helps}" for one in found)


def test_a_program_that_is_not_found_is_told_of_every_agent(around: HookLocation) -> None:
    """The command that an agent calls is searched for on the PATH, as the agent does."""
    assert said(around, "cursor") == ""
    assert "not on the PATH" in said(around._replace(environment={"PATH": "/no"}), "cursor")


def test_claude_may_have_all_hooks_off(around: HookLocation) -> None:
    """A switch that disables hooks is found in both files; --bare is always reported."""
    assert "--bare" in said(around, "claude")
    assert "disableAllHooks" not in said(around, "claude")
    place = around.file("claude", "user").path
    place.parent.mkdir(parents=True)
    place.write_text('{"disableAllHooks": true}')
    assert f"{place} contains disableAllHooks = true" in said(around, "claude")


def test_codex_asks_for_trust_twice(around: HookLocation) -> None:
    """The user must trust the project and the hook; both are reported."""
    assert "codex exec --trust" in said(around, "codex")
    assert "/hooks" in said(around, "codex")
    assert "codex exec --trust" not in said(around, "codex", "user")
    config = around.file("codex", "user").root / "config.toml"
    config.parent.mkdir(parents=True)
    hooks = around.file("codex", "project").path
    config.write_text(
        f'[projects."{around.project}"]\ntrust_level = "trusted"\n'
        f'[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = "sha256:0"\n'
    )
    assert said(around, "codex") == ""
    config.write_text("[features]\nhooks = false\n[[hooks.Stop]]\n")
    assert "contains features.hooks = false" in said(around, "codex", "user")
    assert "requires them in one place" in said(around, "codex", "user")


def test_gemini_calls_no_hooks_of_a_folder_it_does_not_trust(around: HookLocation) -> None:
    """The agent calls hooks in a trusted folder or below one, or if the variable is set."""
    assert "GEMINI_CLI_TRUST_WORKSPACE" in said(around, "gemini")
    assert said(around, "gemini", "user") == ""
    trusted = around.file("gemini", "user").root / ".gemini" / "trustedFolders.json"
    trusted.parent.mkdir(parents=True)
    trusted.write_text(json.dumps({str(around.project.parent): "TRUST_FOLDER"}))
    assert said(around, "gemini") == ""
    trusted.write_text(json.dumps({str(around.project): "DO_NOT_TRUST"}))
    assert "does not trust" in said(around, "gemini")
    by_variable = {**around.environment, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    assert said(around._replace(environment=by_variable), "gemini") == ""


def test_copilot_also_calls_the_hooks_of_claude(around: HookLocation) -> None:
    """If claude's file has our hooks, copilot is covered, and a second file is reported."""
    copilot = around.file("copilot", "project")
    assert covered_by(copilot, around) is None
    assert "--trust-folder" in said(around, "copilot")
    claude = around.file("claude", "project")
    claude.install()
    assert covered_by(copilot, around) == claude.path
    assert "twice" in said(around, "copilot")
    assert covered_by(around.file("copilot", "user"), around) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "\x00", '{"projects": 3}', "[" * 9999, '{"x": []}']
)
def test_odd_files_of_agents_are_no_reason_to_fail(text: str, around: HookLocation) -> None:
    """An unreadable file counts as missing: missing trust is reported."""
    for agent, name in (
        ("codex", "config.toml"),
        ("gemini", ".gemini/trustedFolders.json"),
    ):
        place = around.file(agent, "user").root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        assert "trust" in said(around, agent)
