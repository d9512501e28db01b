"""`setup`: everything that agents need is installed once, and removed to the byte."""

import json
import os
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.service.place.location import INSTALLED

from ...adapters.trees import Picture, git, picture, put
from ..conftest import Result, Run

AGENTS = ("claude", "codex", "copilot", "cursor", "gemini", "opencode")


@pytest.fixture
def home(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a new home without agents, and make the current folder a repository."""
    home = tmp_path_factory.mktemp("home")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    put(home / "bin/sprintlog", b"#!/bin/sh\n", 0o755)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.defpath}")
    git(folder, "init", "-q")
    return home


def tree(folder: Path) -> Picture:
    """Return everything in the work tree and in git's folder, except git's own data."""
    own = (
        "hooks",
        "info",
        "logs",
        "objects",
        "refs",
        "HEAD",
        "config",
        "index",
        "branches",
    )
    return picture(folder, without=tuple(f".git/{name}" for name in (*own, "description")))


def files_of(result: Result) -> list[str]:
    """Return the files of all steps of an answer."""
    return [one["file"] for one in result.lines[0]["steps"]]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_set_up_once_and_removed_to_the_byte(
    folder: Path, home: Path, done: Run, run: Run, agent: str
) -> None:
    """Log, hooks, server, section and skill are installed; `--remove` leaves nothing."""
    before = tree(folder)
    assert run("setup", "--check").code == 1
    made = done("setup", agent, "--yes", "--json")
    assert {one["what"] for one in made.json["steps"]} == {
        *("log", "hooks", "mcp", "section", "skill")
    }
    for name in files_of(made):
        assert (folder / name).exists()
    after = tree(folder)
    assert done("setup", "--check").out.endswith("everything is set up\n")
    assert done("setup", agent, "--yes", "--json").json["steps"] == []
    assert tree(folder) == after
    (folder / files_of(made)[1]).unlink()
    done("setup", agent, "--yes")
    assert tree(folder) == after
    done("setup", "--remove", "--yes")
    assert tree(folder) == before
    assert not [*home.glob(".local/state/sprintlog/hooks/*")]


@pytest.mark.parametrize(
    ("path", "content", "command"),
    [
        ("package.json", b'{"scripts": {"test": "vitest"}}', "npm test"),
        ("pyproject.toml", b'[dependency-groups]\ndev = ["pytest>=9"]\n', "pytest"),
        ("test.sh", b"echo 3/3\n", "sh ./test.sh"),
        ("Makefile", b"test:\n\techo 3/3\n", "make test"),
        ("Cargo.toml", b"[package]\n", "cargo test"),
    ],
)
def test_the_tests_become_a_trusted_measure(
    folder: Path, home: Path, done: Run, path: str, content: bytes, command: str
) -> None:
    """The detected command is written to a new sprintlog.toml, which is then trusted."""
    put(folder / path, content)
    made = done("setup", "--yes")
    assert f"the tests as the measure: {command}\n" in made.out
    (shown,) = done("config", "measure.run", "--json").json["values"]
    assert (shown["value"], shown["trusted"]) == ([command], True)
    done("setup", "--remove", "--yes")
    assert not (folder / "sprintlog.toml").exists()
    assert not (home / ".config/sprintlog/trusted").exists()


@pytest.mark.parametrize(
    "script", ['echo \\"Error: no test specified\\" && exit 1', None], ids=["npm", "none"]
)
def test_a_placeholder_is_not_a_measure(
    folder: Path, home: Path, done: Run, script: str | None
) -> None:
    """The script that npm writes into every package.json runs no tests."""
    scripts = f'{{"test": "{script}"}}' if script else "{}"
    put(folder / "package.json", f'{{"scripts": {scripts}}}'.encode())
    made = done("setup", "--yes")
    assert "measure" not in made.out
    assert "no agent was found" in made.out


def test_the_lock_file_decides_on_the_package_manager(
    folder: Path, home: Path, done: Run
) -> None:
    """With pnpm's lock file, the tests run with pnpm."""
    put(folder / "package.json", b'{"scripts": {"test": "x"}}')
    put(folder / "pnpm-lock.yaml", b"")
    done("setup", "--yes")
    assert tomllib.loads((folder / "sprintlog.toml").read_text()) == {
        "measure": {"run": ["pnpm test"]}
    }


def test_an_existing_settings_file_is_not_trusted(
    folder: Path, home: Path, done: Run
) -> None:
    """The measure is added to the file, but `--yes` trusts only a file that it created."""
    put(folder / "test.sh", b"", 0o755)
    put(folder / "sprintlog.toml", b'[agent]\ncommand = ["rm", "-rf", "/"]')
    made = done("setup", "--yes")
    assert "is not trusted: `sprintlog config --trust`" in made.err
    assert not done("config", "--json").json["trusted"]
    done("config", "--trust")
    done("setup", "--remove", "--yes")
    assert (folder / "sprintlog.toml").read_bytes().endswith(b'"/"]')
    assert done("config", "--json").json["trusted"]


def test_a_settings_file_that_was_replaced_is_not_trusted(
    folder: Path, home: Path, done: Run
) -> None:
    """A file that an earlier setup created may now contain commands of somebody else."""
    put(folder / "test.sh", b"", 0o755)
    done("setup", "--yes")
    put(folder / "sprintlog.toml", b'[agent]\ncommand = ["rm", "-rf", "/"]\n')
    done("setup", "--yes")
    assert b"./test.sh" in (folder / "sprintlog.toml").read_bytes()
    assert not done("config", "--json").json["trusted"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("sprintlog.toml", b'[measure]\nrun = ["./mine"]\n'),
        ("pyproject.toml", b'[tool.sprintlog.measure]\nrun = ["./mine"]\n[tool.pytest]\n'),
        ("pyproject.toml", b"[tool.sprintlog.agent]\ntimeout = 5\n[tool.pytest]\n"),
    ],
)
def test_a_measure_that_is_set_stays(
    folder: Path, home: Path, done: Run, path: str, content: bytes
) -> None:
    """Settings with a measure, or settings that a new file would hide, are not changed."""
    put(folder / "test.sh", b"", 0o755)
    put(folder / path, content)
    assert files_of(done("setup", "--yes", "--json")) == [f"{folder}/.git/sprintlog"]
    assert not done("config", "--json").json["trusted"] or "agent" in content.decode()
    done("setup", "--remove", "--yes")
    assert (folder / path).read_bytes() == content


@pytest.mark.parametrize(
    ("agent", "files", "target"),
    [
        ("claude", {"CLAUDE.md": b"# Mine\n@AGENTS.md\n"}, "AGENTS.md"),
        ("claude", {"AGENTS.md": b"# All\n"}, "CLAUDE.md"),
        ("claude", {"CLAUDE.md": "AGENTS.md"}, "AGENTS.md"),
        ("codex", {"AGENTS.md": "CLAUDE.md", "CLAUDE.md": b""}, "CLAUDE.md"),
        ("gemini", {}, "GEMINI.md"),
        ("copilot", {"CLAUDE.md": b""}, "AGENTS.md"),
    ],
)
def test_the_section_is_in_the_file_that_the_agent_reads(
    folder: Path,
    home: Path,
    done: Run,
    agent: str,
    files: dict[str, bytes | str],
    target: str,
) -> None:
    """Imports of AGENTS.md and links to it are respected; there is one section."""
    for name, content in files.items():
        if isinstance(content, str):
            (folder / name).symlink_to(content)
        else:
            put(folder / name, content)
    before = tree(folder)
    done("setup", agent, "--yes")
    section = (folder / target).read_text().partition("<!-- sprintlog: begin -->")[2]
    assert "sprintlog status" in section
    assert len(section.splitlines()) <= 14
    plain = [x for x in folder.glob("*.md") if not x.is_symlink()]
    assert sum(x.read_bytes().count(b"sprintlog: end") for x in plain) == 1
    done("setup", "--remove", "--yes")
    assert tree(folder) == before


def test_a_changed_file_loses_only_our_section(folder: Path, home: Path, done: Run) -> None:
    """Text that was added later stays; so does a settings file with other settings."""
    put(folder / "test.sh", b"", 0o755)
    put(folder / "AGENTS.md", b"# Mine\n")
    done("setup", "codex", "--yes")
    with (folder / "AGENTS.md").open("a") as file:
        file.write("\n# Later\n")
    with (folder / "sprintlog.toml").open("a") as file:
        file.write("\n[agent]\ntimeout = 9\n")
    done("setup", "--remove", "--yes")
    assert (folder / "AGENTS.md").read_text() == "# Mine\n\n\n# Later\n"
    assert (folder / "sprintlog.toml").read_text() == "[agent]\ntimeout = 9\n"
    assert not (folder / ".codex").exists()


def test_what_was_edited_stays_and_is_named(folder: Path, home: Path, done: Run) -> None:
    """An edited skill and an edited measure belong to the user."""
    put(folder / "test.sh", b"", 0o755)
    done("setup", "codex", "--yes")
    (folder / "sprintlog.toml").write_text('[measure]\nrun = ["./mine"]\n')
    skill = folder / ".agents/skills/sprintlog/SKILL.md"
    skill.write_text(skill.read_text() + "More.\n")
    told = done("setup", "--remove", "--yes").out
    assert "keep sprintlog.toml: " in told
    assert "keep .agents/skills/sprintlog/SKILL.md: " in told
    assert skill.exists()


def test_a_log_of_init_stays(folder: Path, home: Path, done: Run) -> None:
    """`--remove` does not remove a log that `setup` did not create."""
    done("init")
    done("setup", "codex", "--yes")
    assert "the log" not in done("setup", "--remove", "--yes").out
    assert done("log", "--all").out == "no events\n"


def test_a_log_with_events_stays(folder: Path, home: Path, done: Run) -> None:
    """The path of a log with events is printed."""
    done("setup", "codex", "--yes")
    done("sprint", "create", "a", "--goal", "x")
    told = done("setup", "--remove", "--yes").out
    assert f"keep {folder}/.git/sprintlog: the log: it contains events" in told
    assert done("status").out


def test_one_agent_is_removed_from_several(folder: Path, home: Path, done: Run) -> None:
    """Files that another agent reads stay, as do the measure and the log."""
    put(folder / "test.sh", b"", 0o755)
    done("setup", "codex", "--yes")
    before = tree(folder)
    done("setup", "codex", "cursor", "--yes")
    done("setup", "--remove", "cursor", "--yes")
    assert tree(folder) == before


def test_copilot_runs_the_hooks_of_claude(folder: Path, home: Path, done: Run) -> None:
    """For both agents, only one file of hooks is installed."""
    made = done("setup", "claude", "copilot", "--yes", "--json")
    hooks = [one["file"] for one in made.json["steps"] if one["what"] == "hooks"]
    assert hooks == [".claude/settings.json"]
    assert done("setup", "claude", "copilot", "--check").code == 0


def test_agents_are_found_by_their_programs(folder: Path, home: Path, done: Run) -> None:
    """Without AGENT, the agents on the PATH and those with files here are set up."""
    put(home / "bin/gemini", b"#!/bin/sh\n", 0o755)
    put(home / "bin/cursor-agent", b"#!/bin/sh\n", 0o755)
    put(folder / ".claude/commands/x.md", b"")
    made = done("setup", "--yes", "--json")
    assert made.json["agents"] == ["claude", "gemini", "cursor"]
    assert done("setup", "--check").code == 0


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--check",), ("--json",)])
def test_nothing_is_changed_without_consent(
    folder: Path, home: Path, run: Run, options: tuple[str, ...]
) -> None:
    """Without a terminal, `--yes` is required; previews never change anything."""
    put(folder / "test.sh", b"", 0o755)
    put(folder / "PROGRESS.yaml", b"sprint-id: a\nstatus: not-started\nphases: []\n")
    before = tree(folder)
    result = run("setup", "claude", *options)
    assert result.code == (0 if options == ("--dry-run",) else 1)
    assert tree(folder) == before
    assert not (home / ".config").exists()


def test_a_plan_is_imported_into_an_empty_log(folder: Path, home: Path, done: Run) -> None:
    """A PROGRESS.yaml or prd.json becomes the sprint, once."""
    stories = [{"id": "US-1", "title": "x", "passes": False, "priority": 1}]
    put(folder / "prd.json", json.dumps({"userStories": stories}).encode())
    steps = done("setup", "claude", "--yes", "--json").lines[0]["steps"]
    assert [one["file"] for one in steps if one["what"] == "plan"] == ["prd.json"]
    assert len(done("status", "--json").json["phases"]) == 1
    assert done("setup", "claude", "--yes", "--json").lines[0]["steps"] == []


def test_a_file_that_cannot_be_read_is_skipped(
    folder: Path, home: Path, run: Run, done: Run
) -> None:
    """The problem is shown, the rest is installed, and the exit status is 1."""
    put(folder / ".gemini/settings.json", b"{ // mine\n}")
    told = run("setup", "gemini", "--yes")
    assert told.code == 1
    assert "skip .gemini/settings.json: hooks of gemini: " in told.out
    assert (folder / "GEMINI.md").exists()
    assert run("setup", "gemini", "--check").code == 1
    done("setup", "--remove", "--yes")
    assert (folder / ".gemini/settings.json").read_bytes() == b"{ // mine\n}"


def test_home_is_not_set_up(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setup in HOME would apply to everything below it."""
    monkeypatch.chdir(home)
    told = run("setup", "claude", "--yes")
    assert told.code == 1
    assert "everything" in told.err
    assert not (home / ".claude").exists()


def test_a_home_that_is_not_writable(folder: Path, home: Path, done: Run) -> None:
    """The additions are then remembered in the log's folder, and removed as exactly."""
    put(folder / "test.sh", b"", 0o755)
    put(folder / ".codex/hooks.json", b'{"a":\t1}')
    (home / ".local").write_bytes(b"")
    (home / ".config").write_bytes(b"")
    before = tree(folder)
    told = done("setup", "codex", "--yes")
    assert "sprintlog.toml cannot be trusted: " in told.err
    assert len([*(folder / ".git/sprintlog" / INSTALLED).glob("*.json")]) == 5
    done("setup", "--remove", "--yes")
    assert tree(folder) == before


def text_of(chance: random.Random, kind: str) -> bytes:
    """Return a random file of an agent or a user, in some layout."""
    newline = chance.choice(["\n", "\r\n"])
    if kind == "json":
        said: dict[str, Any] = {
            chance.choice("abé "): [1.50, None, {"x": "\u2028"}] for _ in range(3)
        }
        said |= chance.choice([{}, {"hooks": {}}, {"hooks": {"Stop": []}}, {"mcp": {}}])
        text = json.dumps(said, indent=chance.choice([None, 0, 2, "\t"]))
    elif kind == "toml":
        text = chance.choice(
            ["", "# mine", '[agent]\ntimeout = 5 # "x"\n', "agent.timeout=5"]
        )
        newline = "\n"
    else:
        text = chance.choice(["", "\n\n", "# Mine", "# Mine\n\ntext\n", "x\n\n\n", "@b.md"])
        text = chance.choice(["", "\ufeff"]) + text
    return (text.replace("\n", newline) + chance.choice(["", newline])).encode()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_whatever_was_there_is_restored(
    folder: Path, home: Path, done: Run, seed: int
) -> None:
    """For random existing files, setup is idempotent, `--check` agrees, and it undoes."""
    chance = random.Random(seed)
    kinds = {
        ".claude/settings.json": "json",
        ".mcp.json": "json",
        ".gemini/settings.json": "json",
        ".codex/hooks.json": "json",
        ".codex/config.toml": "toml",
        "opencode.json": "json",
        "sprintlog.toml": "toml",
        "AGENTS.md": "md",
        "CLAUDE.md": "md",
        "GEMINI.md": "md",
    }
    put(folder / chance.choice(["test.sh", "other"]), b"", 0o755)
    for name, kind in kinds.items():
        if chance.random() < 0.6:
            put(folder / name, text_of(chance, kind))
    (folder / chance.choice([".github", ".agents", ".opencode"])).mkdir()
    before = tree(folder)
    agents = chance.sample(AGENTS, chance.randint(1, 6))
    done("setup", *agents, "--yes")
    after = tree(folder)
    assert done("setup", *agents, "--check").code == 0
    done("setup", *agents, "--yes")
    assert tree(folder) == after
    done("setup", "--remove", "--yes")
    assert tree(folder) == before
