"""`sprintlog.toml`: precedence, trust, and limits of a hostile file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.cli.intake.settings import Settings
from sprintlog.cli.settings.file import KEYS
from tests.adapters.trees import git
from tests.docs.generate import commands

from ..conftest import Run


def say(folder: Path, text: str, name: str = "sprintlog.toml") -> None:
    """Write a file of settings into a work tree."""
    (folder / name).write_text(text)


def last_event(done: Run) -> dict[str, object]:
    """Return the newest event."""
    event: dict[str, object] = done("log", "--json").lines[-1]
    return event


def test_every_key_has_a_type_and_a_line_in_the_list() -> None:
    """The list of keys and the models are about the same keys."""
    tables = Settings.model_fields.items()
    typed = {
        f"{table}.{name.replace('_', '-')}"
        for table, field in tables
        for name in field.annotation.model_fields  # type: ignore[union-attr]
    }
    assert typed == set(KEYS)


def test_an_option_comes_before_the_variable_before_the_file(
    sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flag, environment, file, default: the first value applies."""
    say(sprint, '[record]\nactor = "agent:file"\n')
    done("config", "--trust")
    seen = []
    for named in (None, "agent:variable"):
        if named:
            monkeypatch.setenv("SPRINTLOG_ACTOR", named)
        done("note", "x")
        seen.append(last_event(done)["actor"])
    done("note", "x", "--actor", "agent:typed")
    seen.append(last_event(done)["actor"])
    assert seen == ["agent:file", "agent:variable", "agent:typed"]


def test_config_names_the_origin_of_a_value(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable by its name, a file with its line, else the default."""
    monkeypatch.setenv("SPRINTLOG_ACTOR", "agent:me")
    say(folder, "[snapshot]\n\nkeep = 7\n")
    values = {one["key"]: one for one in done("config", "--json").json["values"]}
    assert values["record.actor"]["where"] == "SPRINTLOG_ACTOR"
    assert values["snapshot.keep"]["where"] == f"{folder / 'sprintlog.toml'}:3"
    assert values["snapshot.file-max"]["origin"] == "default"


def test_a_table_of_pyproject_is_read_too(folder: Path, done: Run) -> None:
    """`[tool.sprintlog]` applies without a sprintlog.toml."""
    say(folder, "[tool.sprintlog.snapshot]\nkeep = 7\n", "pyproject.toml")
    assert done("config", "snapshot.keep", "--json").json["values"][0]["value"] == 7
    say(folder, "[snapshot]\nkeep = 8\n")
    assert done("config", "snapshot.keep", "--json").json["values"][0]["value"] == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[recrod]\noff = true\n",
            "line 1: recrod: there is no such key; did you mean `rec",
        ),
        (
            "[record]\nof = true\n",
            "line 2: record.of: there is no such key; did you mean `off`",
        ),
        ("[record]\noff = 1\n", "line 2: record.off: true or false belongs here"),
        ("record = 1\n", "line 1: record: must be a table"),
        ("[record\n", "line 1, column 8"),
        ("a = " + "[" * 30_000, "is nested too deeply"),
        ("#" * 70_000, "is longer than 64 KiB"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    sprint: Path, run: Run, text: str, said: str
) -> None:
    """File, line and key are in the error; nothing is recorded before the repair."""
    say(sprint, text)
    told = run("note", "x").err.splitlines()
    assert told[0].startswith(f"error: {sprint / 'sprintlog.toml'}: ")
    assert said in told[0]


def test_a_value_of_the_wrong_form_is_named(sprint: Path, run: Run) -> None:
    """Findings of pydantic are reported with key and line, too."""
    say(sprint, '[snapshot]\nkeep = "many"\n')
    assert "line 2: snapshot.keep: must be a valid integer" in run("config").err


def test_a_link_is_not_followed(sprint: Path, run: Run) -> None:
    """The file is a file of the tree, or nothing."""
    (sprint / "else.toml").write_text("")
    (sprint / "sprintlog.toml").symlink_to("else.toml")
    assert "is a symbolic link" in run("status").err


def test_a_pipe_holds_nobody_up(sprint: Path, run: Run) -> None:
    """Anything but a regular file is refused immediately."""
    os.mkfifo(sprint / "sprintlog.toml")
    assert "is not a file" in run("status").err


HOSTILE = """
[agent]
command = ["touch", "HARM"]
hook-command = "touch HARM"
[measure]
run = ["touch HARM"]
build = ["touch HARM"]
reports = ["r.json"]
[gate]
environment = ["SECRET"]
[record]
actor = "operator:boss"
"""


def test_a_file_that_nobody_trusts_runs_nothing(sprint: Path, run: Run, done: Run) -> None:
    """Reading and recording work without it; running its command is refused."""
    say(sprint, HOSTILE)
    for word in ("status", "next", "doctor", "config", "verify"):
        run(word)
    refused: list[tuple[str, ...]] = [("run",), ("run", "--", "true"), ("gate", "run")]
    refused.append(("iteration", "end", "--measure"))
    done("iteration", "start")
    for words in refused:
        assert "is not trusted" in run(*words).err, words
    done("note", "x")
    assert last_event(done)["actor"] == "runtime"
    assert not (sprint / "HARM").exists()


def test_a_changed_command_is_trusted_anew(sprint: Path, run: Run, done: Run) -> None:
    """Trust applies to the content at that time; keys without trust may change."""
    say(sprint, '[agent]\ncommand = ["false"]\n')
    done("config", "--trust")
    say(sprint, '[agent]\ncommand = ["false"]\n[snapshot]\nkeep = 7\n')
    assert done("config", "--json").json["trusted"]
    say(sprint, '[agent]\ncommand = ["true"]\n')
    assert not done("config", "--json").json["trusted"]
    assert "is not trusted" in run("run").err


def test_run_works_with_the_command_of_the_file(sprint: Path, run: Run, done: Run) -> None:
    """`run` alone is sufficient if the file is trusted."""
    code = "import sys; sys.stdin.read(); open('CALLED', 'w').close(); sys.exit(3)"
    say(sprint, f"[agent]\ncommand = ['{sys.executable}', '-c', \"{code}\"]\n")
    done("config", "--trust")
    run("run", "--no-wait")
    assert (sprint / "CALLED").exists()


def test_measuring_is_what_the_file_says(sprint: Path, done: Run) -> None:
    """`--measure` uses its commands and reports; options take precedence."""
    cases = "".join(f'<testcase name=\\"{name}\\"/>' for name in "ab")
    report = f'<testsuite tests=\\"2\\">{cases}</testsuite>'
    say(
        sprint,
        f"[measure]\nrun = [\"echo '{report}' > r.xml\"]\nreports = ['junit=r.xml']\n",
    )
    done("config", "--trust")
    done("iteration", "start")
    done("iteration", "end", "--measure")
    measured = [e for e in done("log", "--json").lines if e["type"] == "iteration-measured"]
    assert measured[-1]["data"]["metrics"]["test_count"] == 2


def test_the_file_says_where_the_log_is(
    folder: Path, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once trusted, its path is relative to the file; SPRINTLOG_DIR takes precedence."""
    git(folder, "init", "-q")
    say(folder, '[log]\nfolder = "../logs/mine"\n')
    assert "is not trusted" in run("init").err
    done("config", "--trust")
    kept = folder.parent / "logs" / "mine"
    assert Path(done("init", "--json").json["folder"]).resolve() == kept
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    done("sprint", "create", "a", "--goal", "x", "--sprint-dir", "..")
    assert (folder / "PROGRESS.yaml").exists()
    monkeypatch.setenv("SPRINTLOG_DIR", str(folder.parent / "logs" / "other"))
    assert "there is no log" in run("status").err


def test_linked_work_trees_share_trust_and_have_their_own_file(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same values are trusted in every work tree of a repository."""
    git(folder, "init", "-q")
    say(folder, '[agent]\ncommand = ["true"]\n')
    git(folder, "add", "sprintlog.toml")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x")
    done("config", "--trust")
    linked = folder.with_name(f"{folder.name}-linked")
    git(folder, "worktree", "add", "-q", str(linked))
    monkeypatch.chdir(linked)
    answer = done("config", "--json").json
    assert (answer["file"], answer["trusted"]) == (str(linked / "sprintlog.toml"), True)
    say(linked, '[agent]\ncommand = ["false"]\n')
    assert not done("config", "--json").json["trusted"]


RECORDING = [
    path
    for path, command in commands()
    if any("--actor" in p.opts and not p.multiple for p in command.params)
]


def test_every_recording_command_is_one_that_can_be_off() -> None:
    """Every recording command has `--actor` and the off switch; two have a special one."""
    assert {"sprintlog note", "sprintlog append", "sprintlog rollback"} <= set(RECORDING)
    behind = {path for path, command in commands() if hasattr(command.callback, "when_off")}
    refuse = {"sprintlog run", "sprintlog race start", "sprintlog race join"}
    assert set(RECORDING) - behind == {*refuse, "sprintlog serve"}


@pytest.mark.parametrize("way", ["variable", "file"])
def test_nothing_is_recorded_where_recording_is_off(
    sprint: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It exits with 0 and one line on stderr; reading works, and `run` is refused."""
    before = len(done("log", "--json").lines)
    if way == "variable":
        monkeypatch.setenv("SPRINTLOG_OFF", "1")
    else:
        say(sprint, "[record]\noff = true\n")
    for words in (("note", "x"), ("phase", "start"), ("iteration", "start")):
        told = done(*words)
        assert (told.out, told.err.count("\n")) == ("", 1)
        assert "nothing is recorded" in told.err
    refused = run("run", "--", "true")
    assert (refused.code, "nothing can be run" in refused.err) == (1, True)
    refused = run("serve", "--write")
    assert (refused.code, "cannot change anything" in refused.err) == (1, True)
    assert len(done("log", "--json").lines) == before
    assert done("status").out


def test_lines_for_append_are_not_recorded_either(
    sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream of events is ignored, and its writer gets a success."""
    before = len(done("log", "--json").lines)
    program = [sys.executable, "-m", "sprintlog.cli", "append"]
    ended = subprocess.run(
        program,
        input=b'{"type":"note-added","data":{"text":"x"}}\n',
        env={**os.environ, "SPRINTLOG_OFF": "1"},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended
    assert len(done("log", "--json").lines) == before


def test_zero_records_in_spite_of_the_file(
    sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment is stronger than the file in this, too."""
    say(sprint, "[record]\noff = true\n")
    monkeypatch.setenv("SPRINTLOG_OFF", "0")
    assert "note-added" in done("note", "x").out


def test_recording_imports_no_pydantic_for_a_file(sprint: Path, done: Run) -> None:
    """The settings that a recording command uses are validated without pydantic."""
    say(sprint, '[record]\noff = false\n[agent]\ncommand = ["true"]\n')
    code = "import sys; from sprintlog.cli.main import main; main(); print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code, "note", "x"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "tomllib" in ended.stdout.split()
    assert "pydantic" not in ended.stdout.split()


@pytest.mark.parametrize(
    ("text", "gets_others"), [("", True), ('[agent]\nenvironment = ["MODEL_KEY"]\n', False)]
)
def test_an_agent_gets_what_is_named(
    sprint: Path, run: Run, monkeypatch: pytest.MonkeyPatch, text: str, gets_others: bool
) -> None:
    """With `agent.environment`, agents get those variables in addition to the scripts'."""
    monkeypatch.setenv("MODEL_KEY", "named")
    monkeypatch.setenv("OTHER_KEY", "unnamed")
    say(sprint, text)
    run("run", "--no-wait", "--", "sh", "-c", "env > seen; cat > prompt; exit 3")
    lines = (sprint / "seen").read_text().splitlines()
    seen = dict(line.partition("=")[::2] for line in lines)
    assert (seen["MODEL_KEY"], "OTHER_KEY" in seen) == ("named", gets_others)
    assert {"PATH", "HOME", "SPRINTLOG_SPRINT", "SPRINTLOG_ACTOR"} <= {*seen}
