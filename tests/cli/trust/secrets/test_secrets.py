"""No entry point lets a secret into a log: arguments, files and output are masked."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import sprintlog
from sprintlog.cli.main import cli
from sprintlog.commands import AddNote

from ....adapters.trees import git
from ...conftest import Result, Run
from ...record.iterations.test_agents import FIXTURES

SECRET = "ghp_" + "aZ19" * 9
PLAN = """\
phases:
  - id: build
    prompt: Build it
    gate: {script: cat said; exit 1, on-fail-prompt: Repair it}
  - id: ship
    prompt: Ship it
"""
EXAMPLES: dict[str, tuple[str, ...]] = {
    "append": ("activity-seen",),
    "compile": ("definition.yaml",),
    "restore": ("iter:1", "--into", "out"),
    "fork": ("other", "--from", "iter:1"),
    "gate record": ("--exit-code", "1"),
    "goal set": ("win",),
    "hook-task": ("spawned", "learning"),
    "import journal": ("theirs.json",),
    "import orchestrator": (".ralph",),
    "import prd": ("prd.json",),
    "import progress": ("theirs.yaml",),
    "import transcript": ("session.jsonl",),
    "iteration baseline": ("--metric", "test_count=1"),
    "iteration end": ("--metric", "test_count=1"),
    "iteration measure": ("--metric", "test_count=1"),
    "journal migrate": ("progress.txt",),
    "journal learning add": ("seen", "--type", "tool-usage", "--prd", "auth"),
    "note": ("seen",),
    "journal pattern add": ("small steps", "--type", "test-pattern"),
    "phase inject": ("--prompt", "more"),
    "queue add": ("crash", "--type", "bug", "--priority", "low"),
    "queue decide": ("--auto",),
    "rollback": ("iter:1", "--plan", "--yes"),
    "run": ("--no-wait", "--", "true"),
    "sprint create": ("more", "--plan", "plan.yaml", "--sprint-dir", "elsewhere"),
    "sprint limit": ("5",),
    "step inject": ("--prompt", "more"),
}
"""Additional arguments; if there are none, required ones are invented."""
USAGE = 2
ELSEWHERE = {"serve", "wrap"}
"""They run in separate processes: `tests/web`, and a test below."""
ENVELOPE = ("actor", "key", "correlation_id", "causation_id", "sprint_id")


def commands(
    command: click.Command = cli, *path: str
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command of the tree that records, by its name."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, *path, name)
    elif any(one.name in ("actor", "agent") for one in command.params):
        yield " ".join(path), command


COMMANDS = {name: one for name, one in commands() if name not in ELSEWHERE}


@pytest.fixture
def told(folder: Path, done: Run) -> Path:
    """Return a tree with a sprint that uses every feature."""
    (folder / "definition.yaml").write_text("sprint-id: s\nphases: [{id: a, prompt: x}]")
    (folder / "plan.yaml").write_text(PLAN)
    done("init", "--here")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("phase", "start")
    done("iteration", "start")
    done("iteration", "snapshot")
    done("queue", "add", "a bug", "--type", "bug", "--priority", "low")
    return folder


def kept(folder: Path, *, without: tuple[str, ...] = ()) -> list[str]:
    """Return the files in the log's folder with the secret in their names or bytes."""
    log = folder / ".sprintlog"
    return [
        path.relative_to(log).as_posix()
        for path in sorted(log.rglob("*"))
        if path.is_file()
        and not path.relative_to(log).as_posix().startswith(without)
        and (SECRET in path.name or SECRET.encode() in path.read_bytes())
    ]


def typed(name: str, command: click.Command) -> Iterator[list[str]]:
    """Yield a command's command lines, each with a secret in one position."""
    words = [*EXAMPLES.get(name, ())]
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    options = [one for one in command.params if isinstance(one, click.Option)]
    if name not in EXAMPLES:
        words = ["1" for one in arguments if one.required]
        for one in options:
            if one.required:
                choices = getattr(one.type, "choices", None)
                words += [one.opts[0], str(next(iter(choices))) if choices else "1"]
    yield words
    for one in options:
        if not one.is_flag and one.nargs == 1:
            secret = f"agent:{SECRET}" if one.name == "actor" else SECRET
            yield [one.opts[0], secret, *words]
    for at, word in enumerate(words):
        if not word.startswith("-") and (at == 0 or not words[at - 1].startswith("-")):
            yield [*words[:at], SECRET, *words[at + 1 :]]
            break


@pytest.mark.sampled(6, 15)
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_is_typed_is_kept_or_shown(told: Path, run: Run, name: str) -> None:
    """A secret in any option or argument is masked or refused, in every command."""
    bare, *others = typed(name, COMMANDS[name])
    assert run(*name.split(), *bare).code != USAGE
    for words in others:
        for format_ in ([], ["--json"]):
            answer = run(*name.split(), *format_, *words)
            assert SECRET not in answer.out + answer.err, words
            assert kept(told) == [], words


def test_every_command_can_be_typed(told: Path) -> None:
    """The examples use existing commands, and each specifies the actor."""
    assert EXAMPLES.keys() <= COMMANDS.keys()
    for name, command in COMMANDS.items():
        names = {one.name for one in command.params}
        if "key" in names:
            assert names.issuperset(ENVELOPE[:4]), name


SAID = {"summary": SECRET, "description": f"use {SECRET}"}
STORY = {"id": "S1", "title": SECRET, "priority": 1, "passes": False, "notes": SECRET}
JOURNAL_TEXT = f"""\
# Progress Log

## Codebase Patterns
- use {SECRET}

---

## 2026-01-02 - S1
- did {SECRET}
- **Learnings for future iterations:**
  - {SECRET} works
---
"""
DOCUMENT = f"""\
sprint-id: theirs
status: in-progress
secret-note: {SECRET}
phases:
  - {{id: a, status: completed, prompt: 'with {SECRET}', summary: {SECRET}}}
"""
OBSERVATION = {"type": "finding", "title": SECRET, "category": "tooling-friction"}
RECORDED = {
    "id": "auth-1",
    "timestamp": "2026-01-01T00:00:00Z",
    "prd_id": "auth",
    "iteration": 1,
    "status": "completed",
}
HISTORY = [
    {"ts": "2026-01-01T00:00:00Z", "type": {"kind": "loop_started", "prompt": SECRET}},
    {"ts": "2026-01-01T00:00:01Z", "type": {"kind": "iteration_started", "iteration": 1}},
    {"ts": "2026-01-01T00:00:02Z", "type": {"kind": SECRET}},
]
EVENT = {"topic": "task.done", "payload": SECRET, "ts": "2026-01-01T00:00:03Z"}
FILES = {
    "said": SECRET,
    "secret.yaml": PLAN.replace("Build it", f"Build it with {SECRET}"),
    "wrong.yaml": f"phases: [{{id: a, prompt: {SECRET}, status: {SECRET}}}]",
    "theirs.yaml": DOCUMENT,
    "prd.json": json.dumps({"branchName": "b", "userStories": [STORY]}),
    "progress.txt": JOURNAL_TEXT,
    "requests.yaml": f"- {{title: {SECRET}, type: bug, priority: low, {SECRET}: 1}}",
    "phases.yaml": f"phases: [{{id: x, prompt: {SECRET}}}]",
    "prompt.md": f"with {SECRET}",
    "session.jsonl": (FIXTURES / "claude-2.1.330-transcript.jsonl")
    .read_text()
    .replace("All done", SECRET)
    + json.dumps({"odd": SECRET})
    + "\n",
    "stream.jsonl": (FIXTURES / "claude-2.1.330-stream.jsonl")
    .read_text()
    .replace("All done", SECRET)
    .replace("newer-model", SECRET),
    ".ralph/history.jsonl": "".join(json.dumps(one) + "\n" for one in HISTORY),
    ".ralph/events-20260101-000000.jsonl": json.dumps(EVENT) + f"\n{SECRET}\n",
    "junit.xml": f'<testsuites><testsuite name="{SECRET}" tests="1">'
    f'<testcase name="{SECRET}"/></testsuite></testsuites>',
    "broken.xml": f"<testsuites {SECRET}",
    "metrics.json": json.dumps({SECRET: 1}),
    "theirs.json": json.dumps(
        {
            "version": "1.0",
            "created_at": "2026-01-01T00:00:00Z",
            "entries": [{**RECORDED, "summary": SECRET, "observations": [OBSERVATION]}],
            "learnings": [],
        }
    ),
}
CREATE_B = ("sprint", "create", "b", "--sprint-dir", "b")
ENTRY = ("journal", "entry", "record", "auth", "--status", "completed")
IMPORTED = ("append", "sprint-imported", "--stream", "sprint/c", "--observed", "--data")
WAYS: dict[str, list[tuple[str, ...]]] = {
    "plan": [(*CREATE_B, "--plan", "secret.yaml")],
    "plan with mistakes": [("sprint", "create", "b", "--plan", "wrong.yaml")],
    "goal": [(*CREATE_B, "--goal", SECRET)],
    "hook": [(*CREATE_B, "--goal", "g", "--hook", f"id=learning,command=echo {SECRET}")],
    "gate": [("gate", "run")],
    "gate file": [("gate", "record", "--exit-code", "1", "--output-file", "said")],
    "agent's words": [("run", "--no-wait", "--", "cat", "said")],
    "agent's output": [("run", "--no-wait", "--", "cat", "stream.jsonl")],
    "agent's error": [("run", "--no-wait", "--", "sh", "-c", "cat said >&2; exit 3")],
    "output from a file": [("iteration", "end", "--from", "stream.jsonl")],
    "words from a file": [("iteration", "end", "--from", "said", "--agent", "claude")],
    "injection": [("phase", "inject", "--file", "phases.yaml")],
    "prompt": [("phase", "inject", "--prompt-file", "prompt.md")],
    "requests": [("queue", "add", "--file", "requests.yaml")],
    "report": [("iteration", "end", "--report", "junit.xml")],
    "broken report": [("iteration", "end", "--report", "broken.xml")],
    "metrics": [("iteration", "end", "--metrics", "metrics.json")],
    "failing measurement": [
        ("iteration", "end", "--build", f"cat said; echo {SECRET} >&2; exit 1"),
        ("iteration", "measure", "--report", "junit.xml", "--run", "cat said; exit 1"),
    ],
    "progress": [("import", "progress", "theirs.yaml")] * 2,
    "prd": [("import", "prd", "prd.json")] * 2,
    "orchestrator": [("import", "orchestrator", ".ralph")] * 2,
    "transcript": [("iteration", "end"), *[("import", "transcript", "session.jsonl")] * 2],
    "journal": [("import", "journal", "theirs.json")] * 2,
    "text of a journal": [("journal", "migrate", "progress.txt")] * 2,
    "recognised": [("iteration", "end"), ("import", "session.jsonl")],
    "entry": [
        (*ENTRY, "--summary", SECRET, "--observation", json.dumps(OBSERVATION)),
        ("journal", "learning", "extract", "auth-1", "--add"),
    ],
    "event": [
        ("append", "note-added", "--data", json.dumps({"text": SECRET})),
        (
            "append",
            "phase-failed",
            "--data",
            json.dumps({"phase": "build", "error": SECRET}),
        ),
        (*IMPORTED, json.dumps({"source": SECRET, "document": {"sprint-id": "c"}})),
    ],
}
"""The ways of input that is not typed: files and output of programs."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_is_read_is_kept_or_shown(told: Path, run: Run, way: str) -> None:
    """Secrets in files and output are masked; files derived from the log have none."""
    for name, content in FILES.items():
        (told / name).parent.mkdir(exist_ok=True)
        (told / name).write_text(content)
    said = [run(*words) for words in WAYS[way]]
    said += [run("query", "SELECT count(*) FROM v_events"), run("journal", "search", "use")]
    with sprintlog.open(told) as workspace:
        for number in range(70):
            workspace.handle(AddNote(str(number)), sprint_id="auth")
    said.append(run("log", "--all", "--json"))
    assert not [one for one in said if SECRET in one.out + one.err]
    assert kept(told) == []
    if way not in NOTHING_OF_IT:
        assert "[masked: github-token" in said[-1].out, way


NOTHING_OF_IT = {"plan with mistakes", "requests", "report", "broken report", "metrics"}
"""Ways that are refused, or of which only figures are recorded."""


def test_what_wrap_sees_is_not_kept(told: Path) -> None:
    """The command, both outputs and the measurement of a wrapped command are masked."""
    script = f"echo {SECRET}; echo {SECRET} >&2; exit 3"
    words = ("wrap", "--measure", f"echo {SECRET}; false", "--", "sh", "-c", script)
    command = [sys.executable, "-m", "sprintlog.cli", *words]
    done = subprocess.run(command, cwd=told, capture_output=True, check=False, text=True)
    assert done.returncode == 3
    assert kept(told) == []


def test_lines_on_standard_input(told: Path) -> None:
    """A line of `append` is masked in all its fields, even if it is refused."""
    lines = [
        {"type": "note-added", "data": {"text": SECRET}, "key": SECRET},
        {"type": "note-added", "data": {"text": SECRET}, "actor": f"agent:{SECRET}"},
        {"type": "note-added", "data": {SECRET: 1}},
        {"type": SECRET},
        {"type": "note-added", "stream": f"sprint/{SECRET}", "data": {"text": "x"}},
        {SECRET: 1},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", "append"],
        cwd=told,
        input="".join(json.dumps(line) + "\n" for line in lines) + SECRET + "\n",
        capture_output=True,
        check=False,
        text=True,
    )
    assert SECRET not in done.stdout + done.stderr
    assert kept(told) == []


def test_the_same_key_is_found_again(told: Path, done: Run) -> None:
    """A key with a secret is stored masked, and is still recognized."""
    first = done("note", "x", "--key", f"k-{SECRET}", "--json").json
    assert done("note", "x", "--key", f"k-{SECRET}", "--json").json["id"] == first["id"]


def test_the_library_masks_as_well(told: Path) -> None:
    """The library needs no command line for it."""
    with sprintlog.open(told) as workspace:
        workspace.handle(AddNote(SECRET), sprint_id="auth", actor=f"agent:{SECRET}")
    assert kept(told) == []


def test_an_edit_is_recorded_masked(told: Path, run: Run) -> None:
    """Events of an edit are masked; only the copy of the foreign file is unchanged."""
    file = told / "PROGRESS.yaml"
    file.write_text(file.read_text().replace("Ship it", f"Ship {SECRET}"))
    run("rebuild")
    run("adopt", "--yes")
    run("note", "seen")
    assert "[masked: github-token" in run("log", "--all", "--json").out
    assert kept(told, without=("edits/",)) == []
    assert len(kept(told)) == 1


def test_a_history_of_commits_is_masked(told: Path, run: Run) -> None:
    """All committed versions of stories and documents are imported without secrets."""
    git(told, "init", "-q")
    for name in ("theirs.yaml", "prd.json"):
        (told / name).write_text(FILES[name])
    git(told, "add", "theirs.yaml", "prd.json")
    git(told, "commit", "-q", "-m", SECRET)
    answers: list[Result] = [
        run("import", "progress", "--git", "theirs.yaml"),
        run("import", "prd", "--git", "prd.json"),
    ]
    assert not [one for one in answers if SECRET in one.out + one.err or one.code]
    assert kept(told) == []


def test_masks_in_a_plan_are_told(told: Path, done: Run) -> None:
    """A plan with a secret causes a warning; `--no-mask` preserves it."""
    (told / "secret.yaml").write_text(FILES["secret.yaml"])
    words = ("sprint", "create", "b", "--plan", "secret.yaml", "--sprint-dir", "b")
    assert "secret.yaml are masked" in done(*words).err
    assert kept(told) == []
    other = ("sprint", "create", "c", "--plan", "secret.yaml", "--sprint-dir", "c")
    assert "masked" not in done(*other, "--no-mask").err
    assert kept(told) != []


def test_an_imported_file_stands_until_our_own_first_event(told: Path, done: Run) -> None:
    """A document with masked texts is not an edit, and importing it again adds nothing."""
    (told / "d").mkdir()
    (told / "d/PROGRESS.yaml").write_text(DOCUMENT)
    done("import", "progress", "d/PROGRESS.yaml")
    again: dict[str, Any] = done("import", "progress", "d/PROGRESS.yaml", "--json").lines[0]
    assert again["unchanged"] is True
    assert (told / "d/PROGRESS.yaml").read_text() == DOCUMENT
    assert done("verify", "--json").json["sound"]
