"""`setup --scope user`, the hints of `setup --check`, and `uninstall` of every project."""

import json
from pathlib import Path

import pytest

from ...adapters.trees import git, picture, put
from ..conftest import Run
from .test_setup import AGENTS, files_of
from .test_setup import home as home

SERVERS = b'{"projects":{},  "mcpServers":{"x":{"command":"y"}}}'


def files_in(folder: Path) -> dict[str, object]:
    """Return the files below a folder; the folders of agents stay."""
    return {path: one for path, one in picture(folder).items() if one[0] != "folder"}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_set_up_for_all_projects(
    folder: Path, home: Path, done: Run, run: Run, agent: str
) -> None:
    """Hooks, server and skill are in the user's files, and are removed to the byte."""
    put(folder / "test.sh", b"", 0o755)
    put(folder / "PROGRESS.yaml", b"sprint-id: a\nstatus: not-started\nphases: []\n")
    put(home / ".claude.json", SERVERS)
    before, own = files_in(folder), files_in(home)
    user = "--scope", "user"
    made = done("setup", agent, *user, "--dry-run", "--json").json
    assert [one["what"] for one in made["steps"]] == ["hooks", "mcp", "skill"]
    assert run("setup", agent, *user, "--check").code == 1
    assert (files_in(folder), files_in(home)) == (before, own)
    done("setup", agent, *user, "--yes")
    assert all((home / one["file"]).exists() for one in made["steps"])
    assert done("setup", *user, "--check").out.endswith("everything is set up\n")
    assert done("setup", *user, "--remove", "--yes", "--json").json["done"]
    assert (files_in(folder), files_in(home)) == (before, own)


def test_other_servers_of_a_user_stay(folder: Path, home: Path, done: Run) -> None:
    """Other servers in a file of the home folder are kept; the agents are found there."""
    put(home / ".claude.json", SERVERS)
    put(home / ".claude/settings.json", b"{}")
    done("setup", "--scope", "user", "--yes")
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    assert servers["x"] == {"command": "y"}
    assert servers["sprintlog"] == {"command": "sprintlog", "args": ["mcp"]}


def test_one_agent_of_a_user_is_removed(folder: Path, home: Path, done: Run) -> None:
    """The skill that another agent reads stays."""
    done("setup", "codex", "--scope", "user", "--yes")
    before = picture(home)
    done("setup", "codex", "cursor", "--scope", "user", "--yes")
    done("setup", "--remove", "cursor", "--scope", "user", "--yes")
    assert picture(home) == before


def test_copies_of_transcripts_belong_to_a_work_tree(
    folder: Path, home: Path, run: Run
) -> None:
    """Copies of transcripts are a setting of a work tree."""
    told = run("setup", "claude", "--scope", "user", "--copy-transcripts", "--yes")
    assert told.code == 2
    assert "--scope user cannot be combined" in told.err


def test_a_home_is_set_up_for_its_user(
    home: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal to set up HOME as a work tree does not concern the user's own files."""
    monkeypatch.chdir(home)
    done("setup", "cursor", "--scope", "user", "--yes")
    assert (home / ".cursor/hooks.json").exists()


def test_a_check_reports_why_hooks_may_not_run(
    folder: Path, home: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Preconditions, other scopes and subfolders are hints, also if all is installed."""
    done("setup", "gemini", "--scope", "user", "--yes")
    done("setup", "claude", "--yes")
    (folder / "below").mkdir()
    told = done("setup", "--check").err
    assert "claude --mcp-config .mcp.json" in told
    assert f"hooks of gemini, in {home}/.gemini/settings.json" in told
    assert "does not read" not in told
    monkeypatch.chdir(folder / "below")
    notes = done("setup", "--check", "--json").json["notes"]
    assert f"started in {folder}/below does not read" in notes[-1]["says"]
    assert notes[-1]["helps"].startswith(f"`cd {folder}`")


def test_duplicate_hooks_of_copilot_are_reported(
    folder: Path, home: Path, done: Run
) -> None:
    """Hooks of copilot that were installed before claude's are reported as duplicates."""
    done("setup", "copilot", "--yes")
    done("setup", "claude", "--yes")
    assert "each event occurs twice" in done("setup", "--check").err
    done("setup", "--remove", "copilot", "--yes")
    done("setup", "copilot", "--yes")
    told = done("setup", "--check")
    assert "each event occurs twice" not in told.err
    assert not (folder / ".github/hooks").exists()


def test_damaged_settings_cover_nothing(folder: Path, home: Path, done: Run) -> None:
    """Settings of claude that cannot be read do not stop the setup of copilot."""
    put(folder / ".claude/settings.json", b"{")
    made = done("setup", "copilot", "--yes", "--json")
    assert ".github/hooks/sprintlog.json" in files_of(made)


def test_uninstall_removes_the_files_of_every_project(
    sprint: Path, home: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation elsewhere is remembered, and removed with the rest."""
    done("setup", "claude", "--yes")
    other = home / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    done("setup", "opencode", "--yes")
    done("setup", "codex", "--scope", "user", "--yes")
    told = done("uninstall", "--yes").out
    assert f"hook of claude in {sprint / '.claude/settings.json'}" in told
    assert f"server of claude in {sprint / '.mcp.json'}" in told
    assert "hook of opencode in" in told
    assert not (sprint / ".claude").exists()
    assert not (other / ".opencode").exists()
    assert not [*home.glob(".agents"), *home.glob(".codex/*")]


def test_a_clone_is_set_up_and_cleaned_without_what_was_remembered(
    folder: Path, home: Path, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sprintlog's content is recognized in committed files; `uninstall` removes it, too."""
    first = folder / "first"
    put(first / "AGENTS.md", b"# Mine\n")
    put(first / "opencode.json", b'{"a": 1}\n')
    git(first, "init", "-q")
    monkeypatch.chdir(first)
    agents = ("codex", "opencode", "gemini", "cursor")
    before = picture(first, without=(".git",))
    done("setup", *agents, "--yes")
    git(first, "add", ".")
    git(first, "commit", "-qm", "x")
    git(folder, "clone", "-q", "first", "second")
    done("uninstall", "--yes")
    assert picture(first, without=(".git",)) == before
    monkeypatch.chdir(folder / "second")
    assert run("setup", "--check").out.count("create") == 1
    done("setup", "--remove", "--yes")
    assert picture(folder / "second", without=(".git",)) == before
