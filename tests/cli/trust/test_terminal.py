"""No text of agents, files or an untrusted log can control a terminal.

Every command is run on a log in which each text contains terminal controls or characters
that change how a line is read, in a folder with such a name, and with such arguments. The
output of `--json` and the bytes of a state file are exact, and not tested here.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from sprintlog.cli.stops import EXIT_CODES
from sprintlog.engine.journal.events import JOURNAL_EVENTS
from sprintlog.engine.log import append
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.tree import Tree
from sprintlog.projections import Workspace
from tests.docs.generate import commands

from ..conftest import Made, Result, Run
from .harmful import AT, DOCUMENT, EVIL, NAME, document, event, harm, history, journal

EXACT = {
    f"sprintlog {name}" for name in ("show progress", "show best", "append", "store export")
}
EXACT |= {"sprintlog show journal"}
"""They print a state file, or JSON lines for a program."""
OWN_WORDS = {"sprintlog completion", "sprintlog help", "sprintlog schema"}
ENDINGS = {*range(7), *EXIT_CODES.values()}
NEEDED = {
    "new_id": "new",
    "plan": "plan.yaml",
    "reason": EVIL,
    "into": "elsewhere",
    "text": EVIL,
    "error": EVIL,
    "to": "version:3",
    "position": "1",
    "what": "events",
    "exit_code": "1",
    "agent": "true",
    "agent_name": "claude",
    "places": "plan.yaml:1",
    "shell": "bash",
    "file": "copy.db",
    "files": "PROGRESS.yaml",
    "phase": Tree(document()).leaves[0].address,
    "tag": "activity-seen",
    "prompt": EVIL,
    "step": EVIL,
    "hook_id": EVIL,
    "one": "iter:1",
    "other": "snapshot:0000",
    "max_iterations": "9",
    "number": "1",
    "others": "1",
    "request": EVIL,
    "reasoning": EVIL,
    "until": "next-sprint",
    "title": EVIL,
    "priority": "high",
    "type": "bug",
    "auto": "",
    "prd_id": EVIL,
    "status": "failed",
    "entry_id": EVIL,
    "learning_id": "learning-0001",
    "content": EVIL,
    "type_": "test-pattern",
    "prd": EVIL,
    "words": "x 2J",
    "first": "1",
    "second": "1",
    "old": "start",
    "new": "version:2",
    "fields": "status",
    "sql": "SELECT * FROM v_events",
    "name": "forked",
    "point": "version:3",
}
"""A value for every argument and option that a command cannot do without."""
ONE_OF_SEVERAL = {"prompt", "plan", "priority", "type", "auto", "prd", "into"}
"""Options that a command can do without only if it gets another one."""
FLAGS = {"-f": ["-f", "--limit=1"]}
"""The values for flags that otherwise never end."""


@pytest.fixture
def log(folder: Path, made: Made, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create a log full of harmful text in such a folder; return the other sprint."""
    # sprintlog refuses to append some of this, but an untrusted log may contain it.
    monkeypatch.setattr(append, "check_limits", lambda *given, **named: None)
    made("harm", lambda: _harmful(Path.cwd() / NAME))
    monkeypatch.chdir(folder / NAME)
    return EVIL


def _harmful(inside: Path) -> None:
    inside.mkdir()
    with Workspace.init(inside, here=True) as workspace:
        append: Callable[..., Any] = workspace.log.append
        new_events = [new_event(x, at=AT, actor=f"agent:{EVIL}") for x in history()]
        append("sprint/auth", new_events, expect=Expect.NONE, key=EVIL, key_digest=b"x")
        plan = event(f.SprintCompiled, document={**document(), "status": EVIL})
        new_events = [
            new_event(plan, at=AT, actor=EVIL, correlation_id=EVIL, causation_id=EVIL)
        ]
        new_events += [new_event(event(f.NoteAdded), at=EVIL, actor=EVIL)]
        append(f"sprint/{EVIL}", new_events, expect=Expect.NONE)
        new_events = [new_event(x, at=AT, actor=EVIL) for x in journal()]
        append("journal", new_events, expect=Expect.NONE)
    (inside / "plan.yaml").write_text("phases: [{id: a, prompt: b}]")
    (inside / "PROGRESS.yaml").write_bytes(DOCUMENT.read_bytes())


def words(
    path: str, command: click.Command, *, but: click.Parameter | None = None
) -> list[str]:
    """Return a command line with the required arguments, except one."""
    asked = (p for p in command.params if p is not but)
    needed = (p for p in asked if p.required or p.name in NEEDED)
    return path.split()[1:] + [
        given(parameter, NEEDED.get(str(parameter.name), EVIL))
        for parameter in needed
        if parameter.required
        or isinstance(parameter, click.Argument)
        or (parameter.name in ONE_OF_SEVERAL and not parameter.multiple)
    ]


def given(parameter: click.Parameter, value: str) -> str:
    """Return the argument that gives a parameter a value."""
    if not isinstance(parameter, click.Option):
        return value
    return parameter.opts[0] if parameter.is_flag else f"{parameter.opts[0]}={value}"


def check(result: Result, line: list[str]) -> None:
    """Check output for terminal controls."""
    assert result.code in ENDINGS, (line, result)
    assert not harm(result.out), (line, result.out)
    assert not harm(result.err), (line, result.err)


ELSEWHERE = {f"sprintlog {name}" for name in ("demo", "mcp", "rpc", "serve", "wrap")}
"""One runs in a separate folder, three stay (`tests/mcp`, `tests/rpc`, `tests/web`).

One becomes the command.
"""
PRINTING = [x for x in commands() if x[0] not in EXACT | OWN_WORDS | ELSEWHERE]


def test_harm_is_what_is_tried() -> None:
    """Every character of the text in this test is harmful, except the carriers."""
    assert len(harm(EVIL)) > 30
    assert harm("é 😀 ✓ ◀ \t\n") == []


@pytest.mark.sampled(6, 20)
@pytest.mark.parametrize(("path", "command"), PRINTING, ids=[x[0] for x in PRINTING])
def test_every_command_prints_harmless_text(
    log: str, run: Run, path: str, command: click.Command
) -> None:
    """No command prints harmful text from its log, its folder's name or its arguments."""
    takes = {option for p in command.params for option in p.opts}
    assert run(*words(path, command)).code != 2, "give NEEDED a value for what it needs"
    for sprint in ("auth", log, None):
        chosen = [f"--sprint={sprint}"] if sprint and "--sprint" in takes else []
        line = [*words(path, command), *chosen]
        check(run(*line), line)
        check(run("-v", *line), line)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.is_flag:
            line = [
                *words(path, command),
                *FLAGS.get(parameter.opts[0], parameter.opts[:1]),
            ]
            if "--json" not in line:
                check(run(*line), line)
            continue
        for value in (EVIL, NAME):
            line = [*words(path, command, but=parameter), given(parameter, value)]
            check(run(*line), line)


@pytest.mark.parametrize("path", sorted(EXACT))
def test_errors_of_exact_commands_are_harmless(log: str, run: Run, path: str) -> None:
    """If the answer is exact, warnings and errors are escaped nevertheless."""
    command = dict(commands())[path]
    for parameter in command.params:
        if not (isinstance(parameter, click.Option) and parameter.is_flag):
            line = [*words(path, command, but=parameter), given(parameter, NAME)]
            assert not harm(run(*line).err)


def test_every_event_prints_harmless_text(log: str, run: Run) -> None:
    """`show event` prints everything in an event, harmless."""
    with Workspace.open(Path.cwd()) as workspace:
        last = workspace.log.head().position
    for position in range(1, last + 1):
        shown = run("show", "event", position)
        assert shown.code == 0
        check(shown, ["show", "event", str(position)])


@pytest.mark.parametrize(
    "line", [["\x1b[2J"], ["--\x1b[2J"], ["status", NAME], ["phase", NAME], ["help", NAME]]
)
def test_usage_errors_are_harmless(folder: Path, run: Run, line: list[str]) -> None:
    """An unknown command or option is reported without acting on the terminal."""
    result = run(*line)
    assert result.code == 2
    check(result, line)


def test_files_with_harmful_names_are_told_harmless(log: str, run: Run) -> None:
    """A file that is refused, missing or edited is named without harm."""
    for content in (b"\x1b", b"a: &x 1", b"phases: 7", b"\xff", b'"\\e": 1\n"\\e": 2'):
        Path(NAME).write_bytes(content)
        for line in (
            ["sprint", "create", "n", "--plan", NAME],
            ["import", "progress", NAME],
            ["import", "progress", "--git", NAME],
            ["store", "backup", NAME],
        ):
            result = run(*line)
            assert result.code
            check(result, line)
    Path(NAME).unlink()
    Path(NAME).mkdir()
    line = ["sprint", "create", "n", "--plan", f"{NAME}/plan.yaml", "--sprint-dir", NAME]
    check(run(*line), line)


def test_hand_edit_in_a_harmful_folder_is_told_harmless(log: str, done: Run) -> None:
    """The warning about a hand edit names file and copy without harm."""
    place = Path(EVIL.replace("/", "_"))
    place.mkdir()
    (place / "PROGRESS.yaml").write_text("status: in-progress\n")
    told = done("note", "hello", "--sprint", log)
    assert "was edited by others" in told.err
    check(told, ["note"])


@pytest.mark.parametrize("char", ["\x1b", "\a", "\x9b", "\u202e", "\u200d"])
def test_diagnosis_is_harmless(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch, char: str
) -> None:
    """The output of `--verbose` about a folder escapes its name as well."""
    inside = folder / f"a{char}[31m"
    inside.mkdir()
    monkeypatch.chdir(inside)
    done("init", "--here")
    told = done("-v", "rebuild")
    assert "log opened" in told.err
    check(told, ["rebuild"])


@pytest.mark.parametrize(
    "command",
    [["status"], ["sprint", "list"], ["log"], ["verify"], ["store", "backup"], ["init"]],
)
def test_json_stays_json(log: str, run: Run, command: list[str]) -> None:
    """With `--json` names that are not even Unicode end in JSON, an error among them."""
    for more in ([], ["--sprint", NAME], ["--at", NAME], [NAME]):
        result = run(*command, *more, "--json")
        assert result.out + result.err
        for line in filter(None, (result.out + result.err).split("\n")):
            assert isinstance(json.loads(line), dict | list)


@pytest.mark.long
def test_demo_plays_in_a_harmful_folder(folder: Path, run: Run) -> None:
    """The demo names its folder without harm."""
    result = run("demo", NAME)
    assert result.code == 0
    check(result, ["demo"])


def test_library_texts_are_tried_whole() -> None:
    """Every text field of every event contains harmful text in this test."""
    texts = {
        value
        for kind in (*f.EVENTS, *JOURNAL_EVENTS)
        for value in msgspec.structs.asdict(event(kind)).values()
        if isinstance(value, str)
    }
    assert texts == {EVIL}


def test_blamed_lines_are_harmless(log: str, done: Run) -> None:
    """`why --all` shows the lines of a file with their authors, harmless."""
    check(done("why", "--all", "--sprint", "auth"), ["why"])
