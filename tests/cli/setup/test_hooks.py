"""`hooks`: installed, shown and removed, with other content of an agent's file."""

from pathlib import Path

import pytest

from ...adapters.trees import git, picture, put
from ..conftest import Run


@pytest.fixture
def home(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a separate home, in which no agent has a file."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


def test_they_are_installed_once_and_go_to_the_byte(
    sprint: Path, home: Path, done: Run
) -> None:
    """The answers report the changes; installing is idempotent; the old bytes return."""
    file = sprint / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"model": "opus"}\n')
    told = done("hooks", "install", "claude", "--json").json
    assert told["changed"]
    assert told["state"] == "installed"
    assert "SessionEnd" in told["events"]
    assert not done("hooks", "install", "claude", "--json").json["changed"]
    assert done("hooks", "uninstall", "claude", "--json").json["state"] == "missing"
    assert file.read_text() == '{"model": "opus"}\n'


def test_a_dry_run_says_what_would_be_done(sprint: Path, home: Path, done: Run) -> None:
    """Nothing is created; obstacles to the agent's calls are already reported."""
    told = done("hooks", "install", "codex", "--dry-run")
    assert "would install" in told.out
    assert "codex exec --trust" in told.err
    assert not (sprint / ".codex").exists()


def test_status_lists_both_places_of_each_agent(
    sprint: Path, home: Path, done: Run
) -> None:
    """It lists places with and without hooks, of all agents or of one."""
    done("hooks", "install", "gemini", "--scope", "user")
    rows = done("hooks", "status", "--json").json["hooks"]
    there = [(row["agent"], row["scope"]) for row in rows if row["state"] == "installed"]
    assert there == [("gemini", "user")]
    assert len(rows) == 24
    assert (home / ".gemini" / "settings.json").exists()
    assert done("hooks", "status", "codex").out.count("missing") == 4


def test_copilot_is_not_told_twice(sprint: Path, home: Path, run: Run, done: Run) -> None:
    """If claude's file has our hooks, a file for copilot is refused with the reason."""
    done("hooks", "install", "claude")
    told = run("hooks", "install", "copilot")
    assert told.code == 1
    assert "already covered" in told.err


def test_a_damaged_file_is_refused_in_one_line(sprint: Path, home: Path, run: Run) -> None:
    """File and line are named, and the file is unchanged."""
    file = sprint / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "a": 1,\n}')
    told = run("hooks", "install", "gemini")
    assert told.code == 1
    assert f"error: {file}:3: is not JSON" in told.err
    assert file.read_text() == '{\n  "a": 1,\n}'


def test_no_log_is_needed(folder: Path, home: Path, run: Run) -> None:
    """Hooks may be installed before the first log, and then record nothing."""
    told = run("hooks", "install", "cursor", "--scope", "user")
    assert told.code == 0
    assert (home / ".cursor" / "hooks.json").exists()


def test_uninstall_takes_those_of_every_project(
    sprint: Path, home: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation elsewhere is remembered, and removed with the rest."""
    done("hooks", "install", "claude")
    other = home / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    done("hooks", "install", "opencode")
    told = done("uninstall", "--yes").out
    assert f"hook of claude in {sprint / '.claude/settings.json'}" in told
    assert "hook of opencode in" in told
    assert not (sprint / ".claude").exists()
    assert not (other / ".opencode").exists()


def test_project_hooks_in_a_subfolder_are_not_read(
    sprint: Path, home: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hooks status` notes that an agent reads the project's file only in its root."""
    done("hooks", "install", "claude")
    assert "does not read it" not in done("hooks", "status", "claude").err
    (sprint / "below").mkdir()
    monkeypatch.chdir(sprint / "below")
    told = done("hooks", "status", "claude", "--json").json["hooks"]
    (notes,) = [one["notes"] for one in told if one["state"] == "installed"]
    assert f"only one in {sprint}" in notes[-1]["says"]


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
