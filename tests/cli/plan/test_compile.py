"""`sprintlog compile`: found, checked, recorded, compiled again."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

MAIN = """\
phases:
  - id: setup
    prompt: Prepare {{sprint.id}}
  - id: build
    for-each: step
    workflow: one
"""
ONE = "phases:\n  - id: do\n    prompt: '{{item.prompt}}'\n"
SPRINT = "workflow: main\ncollections:\n  step:\n    - prompt: Log in\n"


@pytest.fixture
def project(folder: Path) -> Path:
    """Return a folder with workflows, and a definition in a folder below."""
    home = folder / ".claude" / "workflows"
    home.mkdir(parents=True)
    (home / "main.yaml").write_text(MAIN)
    (home / "one.yml").write_text(ONE)
    sprint = folder / "sprints" / "auth"
    sprint.mkdir(parents=True)
    (sprint / "SPRINT.yaml").write_text(SPRINT)
    return folder


@pytest.fixture
def definition(project: Path) -> Path:
    """Return the SPRINT.yaml."""
    return project / "sprints" / "auth" / "SPRINT.yaml"


def test_compiles_and_records(project: Path, done: Any) -> None:
    """One event has the plan, and the state file is next to SPRINT.yaml."""
    done("init")
    answer = done("compile", "sprints/auth", "--json").json
    assert (answer["type"], answer["stream"]) == ("sprint-compiled", "sprint/auth")
    assert (project / "sprints" / "auth" / "PROGRESS.yaml").exists()
    assert done("status", "--json").json["status"] == "not-started"


def test_records_every_file_with_its_digest(project: Path, done: Any) -> None:
    """The sources are the definition and each workflow used, in the order of use."""
    done("init")
    done("compile", "sprints/auth")
    data = done("log", "--json").lines[0]["data"]
    files = ["sprints/auth/SPRINT.yaml", ".claude/workflows/main.yaml"]
    files.append(".claude/workflows/one.yml")
    assert data["sources"] == [
        {"path": file, "sha256": hashlib.sha256((project / file).read_bytes()).hexdigest()}
        for file in files
    ]


def test_takes_the_folder_it_stands_in(
    definition: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a name the SPRINT.yaml of the current folder is meant."""
    done("init")
    monkeypatch.chdir(definition.parent)
    assert "auth: sprint-compiled" in done("compile").out


def test_takes_workflows_from_elsewhere(project: Path, done: Any) -> None:
    """`--workflows` specifies another folder."""
    (project / ".claude" / "workflows").rename(project / "flows")
    answer = done("compile", "sprints/auth", "--check", "--workflows", "flows", "--json")
    assert [Path(source["path"]).parent.name for source in answer.json["sources"]] == [
        "auth",
        "flows",
        "flows",
    ]


def test_check_needs_no_log_and_records_nothing(project: Path, done: Any) -> None:
    """`--check` prints the result."""
    assert done("compile", "sprints/auth", "--check").out == (
        "auth: compiles, 2 phases, 1 step, 1 sub-phase from 3 files\n"
    )
    answer = done("compile", "sprints/auth", "--check", "--json").json
    assert answer["plan"]["phases"][0] == {"id": "setup", "prompt": "Prepare auth"}
    assert not (project / "sprints" / "auth" / "PROGRESS.yaml").exists()


def test_problems_are_told_together(definition: Path, done: Any, run: Any) -> None:
    """Every problem is a line with file, line, path and code; nothing is recorded."""
    done("init")
    definition.write_text(SPRINT.replace("Log in", "''") + "    - promt: x\n")
    result = run("compile", "sprints/auth")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "error: sprints/auth/SPRINT.yaml:4: collections.step[0].prompt: is empty "
        "[empty-prompt]\n"
        "error: sprints/auth/SPRINT.yaml:5: collections.step[1].prompt: is missing "
        "[missing-field]\n"
        "hint: is `promt` meant for it?\n"
    )
    assert run("log").code == 3


def test_problems_are_data_for_scripts(definition: Path, run: Any) -> None:
    """With --json the error carries a list of all problems."""
    definition.write_text("workflow: mian\n")
    error = json.loads(run("compile", "sprints/auth", "--json").err)
    assert [(one["code"], one["line"]) for one in error["problems"]] == [
        ("unknown-workflow", 1),
        ("missing-items", 1),
    ]
    assert error["problems"][0]["hint"] == "did you mean main?"


def test_warnings_do_not_stop(definition: Path, done: Any) -> None:
    """A warning is printed on stderr, and the plan is recorded."""
    done("init")
    definition.write_text(f"{SPRINT}  bug:\n    - prompt: x\n")
    result = done("compile", "sprints/auth")
    assert "auth: sprint-compiled" in result.out
    assert result.err.startswith("warning: sprints/auth/SPRINT.yaml:5: collections.bug: ")


def test_text_from_files_cannot_act_on_a_terminal(definition: Path, run: Any) -> None:
    """Control characters of a definition are shown, not obeyed."""
    definition.write_text('workflow: "\\e[31mred"\n')
    assert "\x1b" not in run("compile", "sprints/auth").err


def test_many_problems_are_counted(definition: Path, run: Any) -> None:
    """A terminal gets a hundred, scripts get all."""
    definition.write_text("workflow: main\nsteps:\n" + "  - id: x\n" * 150)
    shown = run("compile", "sprints/auth").err.splitlines()
    assert shown[-2:] == ["error: 199 problems more", "hint: --json has all of them"]
    error = json.loads(run("compile", "sprints/auth", "--json").err)
    assert len(error["problems"]) == 299


def test_a_numbered_definition(definition: Path, done: Any) -> None:
    """A folder may contain one SPRINT-001.yaml instead of SPRINT.yaml."""
    definition.rename(definition.with_name("SPRINT-001.yaml"))
    done("init")
    assert done("compile", "sprints/auth", "--json").json["type"] == "sprint-compiled"


def test_a_definition_that_is_not_there(project: Path, run: Any) -> None:
    """A folder without SPRINT.yaml, and a missing folder of workflows."""
    missing = run("compile", ".")
    assert (missing.code, missing.err) == (3, "error: SPRINT.yaml: there is no such file\n")
    assert run("compile", "sprints/auth", "--workflows", "nowhere").code == 3


def test_a_workflow_that_cannot_be_read(project: Path, run: Any) -> None:
    """A workflow that is not YAML is named, and not reported as unknown."""
    (project / ".claude" / "workflows" / "main.yaml").write_text("phases: ]\n")
    error = json.loads(run("compile", "sprints/auth", "--json").err)
    assert [(one["code"], one["file"]) for one in error["problems"]] == [
        ("not-yaml", ".claude/workflows/main.yaml")
    ]


def test_compiling_again(definition: Path, done: Any) -> None:
    """The same definition records nothing; a changed one replaces an unstarted plan."""
    done("init")
    done("compile", "sprints/auth")
    again = done("compile", "sprints/auth", "--json").json
    assert again == {"unchanged": True, "stream": "sprint/auth", "version": 1}
    definition.write_text(SPRINT.replace("Log in", "Log off"))
    assert done("compile", "sprints/auth", "--json").json["version"] == 2
    assert "prompt: Log off" in (definition.parent / "PROGRESS.yaml").read_text()


def test_a_running_sprint_takes_additions(definition: Path, done: Any) -> None:
    """A new item becomes a step; nothing is recorded twice."""
    done("init")
    done("compile", "sprints/auth")
    done("sprint", "start")
    definition.write_text(f"{SPRINT}    - prompt: Log out\n")
    assert "auth: step-injected" in done("compile", "sprints/auth").out
    assert "prompt: Log out" in (definition.parent / "PROGRESS.yaml").read_text()
    assert "nothing to record" in done("compile", "sprints/auth").out


def test_a_running_sprint_shows_the_differences(
    definition: Path, done: Any, run: Any
) -> None:
    """Differences are lines, and a list for scripts."""
    done("init")
    done("compile", "sprints/auth")
    done("sprint", "start")
    definition.write_text(SPRINT.replace("Log in", "Log \\n out"))
    shown = [
        "build/step-0: prompt changed: 'Log in' → 'Log \\\\n out'",
        "build/step-0/do: prompt changed: 'Log in' → 'Log \\\\n out'",
    ]
    result = run("compile", "sprints/auth")
    assert (result.code, result.err.splitlines()[1:3]) == (
        1,
        [f"difference: {line}" for line in shown],
    )
    error = json.loads(run("compile", "sprints/auth", "--json").err)
    assert (error["error"], error["differences"]) == ("refused", shown)


def test_another_id_makes_another_sprint(definition: Path, done: Any) -> None:
    """`--id` overrides the definition's id, so one definition can be run again."""
    done("init")
    done("compile", "sprints/auth")
    done("compile", "sprints/auth", "--id", "auth-2", "--sprint-dir", "again")
    assert sorted(row["sprint"] for row in done("sprint", "list", "--json").json) == [
        "auth",
        "auth-2",
    ]
