"""The imports of a recording command before it does anything."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.cli.main import COMMANDS, module_of
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.phases.leaves import StartPhase
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

from .tree import PACKAGE_PATH, ROOT

SLOW = {
    *("defusedxml", "lizard", "pydantic", "sqlite_utils", "structlog", "yaml"),
    *("anyio", "asyncio", "sse_starlette", "starlette", "uvicorn"),
}
STORE = "sprintlog.engine.log.stores.sqlite.store"
HOT_PATH = ("sprintlog.projections.workspace", "sprintlog.cli.main", STORE)
OTHERS = {
    *("alerts", "audit", "backup", "best", "blame", "completion", "config", "demo", "diff"),
    *("doctor", "export", "help", "import", "init", "log", "mcp", "query", "rebuild"),
    *("replay", "rpc", "schema", "serve", "setup", "show", "status", "uninstall", "verify"),
    "watch",
}
"""Commands that do not record a single action; every other one is on the hot path."""
RECORDING_COMMANDS = [
    f"sprintlog.cli.{module_of(name)}" for name in COMMANDS if name not in OTHERS
]


def exists(module: str) -> bool:
    """Return whether the module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def packages_imported_by(*names: str) -> set[str]:
    """Return the top-level packages loaded in a new interpreter after the imports."""
    return {name.split(".")[0] for name in modules_imported_by(*names)}


def modules_imported_by(*names: str) -> set[str]:
    """Return the modules loaded in a new interpreter after the imports."""
    lines = [*(f"import {name}" for name in names), "import sys", "print(*sys.modules)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("module", HOT_PATH)
def test_hot_path_starts_without_slow_libraries(module: str) -> None:
    """Recording imports no pydantic, structlog, sqlite-utils or PyYAML at start-up."""
    assert exists(module)
    assert packages_imported_by(module) & SLOW == set()


def test_sprints_wait_for_nothing_of_the_journal() -> None:
    """Sprints are recorded and written without importing the journal's modules."""
    names = ["sprintlog.projections.workspace", STORE, "sprintlog.cli.work.phase"]
    names += ["sprintlog.cli.work.append", "sprintlog.cli.begin.sprint"]
    lines = [*(f"import {name}" for name in names), "import sys"]
    lines.append("print(*(name for name in sys.modules if 'journal' in name))")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["sprintlog.engine.log.stores.sqlite.journal_mode"]


def test_only_what_reads_agents_output_imports_its_decoders() -> None:
    """Of recording commands, only `run`, `race` and `wait` import them at the start."""
    loops = (".run", ".race", ".wait")
    names = [n for n in RECORDING_COMMANDS if exists(n) and not n.endswith(loops)]
    decoders = "sprintlog.engine.adapters.agents"
    assert not any(name.startswith(decoders) for name in modules_imported_by(*names))
    assert decoders in modules_imported_by("sprintlog.cli.work.run")


def test_status_imports_no_rules_that_it_does_not_apply() -> None:
    """`status` imports no hashing library and no rules for plans, goals or limits."""
    imported = modules_imported_by("sprintlog.cli.work.progress")
    unused = {"plan.create", "plan.goal_steps", "answers.limits", "iterations.goal"}
    names = {name.removeprefix("sprintlog.engine.sprint.") for name in imported}
    assert not names & {"_hashlib", "select", *unused}


def test_no_other_command_imports_the_tools_of_mcp() -> None:
    """No other command imports the MCP tools or the SDK before `mcp` runs."""
    imported = modules_imported_by(*(f"sprintlog.cli.{module_of(x)}" for x in COMMANDS))
    assert not [name for name in imported if name.startswith("sprintlog.cli.mcp")]
    assert not {name.split(".")[0] for name in imported} & {"mcp", "mcp_types"}


def test_no_other_command_imports_the_live_page() -> None:
    """No command except `serve` imports the server."""
    others = [f"sprintlog.cli.{module_of(name)}" for name in COMMANDS if name != "serve"]
    imported = modules_imported_by(*others)
    assert not [name for name in imported if name.startswith("sprintlog.cli.web")]
    assert not {name.split(".")[0] for name in imported} & {"starlette", "uvicorn"}


RECORDS = (
    *("phase start", "note x", "iteration start", "iteration end", "append activity-seen"),
    *("status", "hook claude"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", RECORDS)
def test_nobody_looks_for_extensions_who_names_none(words: str, tmp_path: Path) -> None:
    """A recording command or a hook does not list installed packages."""
    with Workspace.init(tmp_path, here=True) as workspace:
        plan = {"phases": [{"id": "a", "prompt": "x"}]}
        workspace.handle(CreateSprint(plan), sprint_id="s")
        workspace.handle(StartSprint(), sprint_id="s")
    lines = [
        "import sys, atexit",
        "from sprintlog.cli.__main__ import main",
        f"sys.argv = ['sprintlog', *{words.split()!r}]",
        "names = ('sprintlog.engine.extensions', 'importlib.metadata')",
        "print_names = lambda: print('FOUND', *(n for n in names if n in sys.modules))",
        "atexit.register(print_names)",
        "main()",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    if words.startswith("hook"):
        # It exits silently; its module documents its imports.
        imported = modules_imported_by("sprintlog.cli.hooking.start")
        assert not {"sprintlog.engine.extensions", "importlib.metadata"} & imported
        return
    assert "FOUND" in done.stdout, done.stderr
    assert done.stdout.rpartition("FOUND")[2].split() == []


def test_recording_commands_start_without_slow_libraries() -> None:
    """Importing a recording command's module imports no slow library."""
    commands = [name for name in RECORDING_COMMANDS if exists(name)]
    assert commands
    assert packages_imported_by(*commands) & SLOW == set()


UNUSED = {
    *("ast", "asyncio", "ctypes", "dataclasses", "dis", "email", "fnmatch", "gettext"),
    *("hashlib", "_hashlib", "importlib.util", "inspect", "ipaddress", "json", "locale"),
    *("logging", "ntpath", "platform", "signal", "subprocess", "tempfile", "textwrap"),
    *("tokenize", "typing_extensions", "urllib.parse"),
    *("click.shell_completion", "click.testing", "click._termui_impl"),
    *("msgspec._json_schema", "msgspec.inspect", "msgspec.toml", "msgspec.yaml"),
}
"""Third-party modules that a command which completes a phase does not need."""

TOPICS = {
    *(
        "phases.gate_checks",
        "iterations.goal",
        "iterations.loop",
        "iterations.rollback",
        "queue.requests",
    ),
    *("iterations.snapshots", "phases.lifecycle", "phases.sprint_changes", "plan"),
}
"""Modules of the sprint that it does not need either, near a checkpoint."""

OURS_MAX = 105
"""The maximum number of sprintlog's modules; each takes as long as reading 50 events."""

THROUGH_MAX = 56
"""The maximum number of sprintlog's modules whose functions it calls."""

RECORD = """
import atexit, sys
from sprintlog.cli.__main__ import main

through, importing = set(), 0

def profile(frame, event, argument):
    # Calls made while a module is imported are not part of the command.
    global importing
    code = frame.f_code
    if code.co_name == "<module>":
        importing += {"call": 1, "return": -1}.get(event, 0)
    elif event == "call" and not importing and code.co_flags & 1:
        through.add(frame.f_globals.get("__name__"))

def report():
    sys.setprofile(None)
    # A deferred module exists, but its code has not run.
    ran = [n for n, x in sys.modules.items() if type(x).__name__ != "_Waiting"]
    print(*ran, *(f"through:{name}" for name in through), file=sys.stderr)

atexit.register(report)
sys.setprofile(profile)
main()
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the modules that a process which completed a phase has imported."""
    folder = tmp_path_factory.mktemp("sprint")
    phases = [{"id": "build", "prompt": "Build"}, {"id": "ship", "prompt": "Ship"}]
    create = CreateSprint(plan={"phases": phases}, place=Place("PROGRESS.yaml"))
    with Workspace.init(folder, here=True) as workspace:
        workspace.handle(create, sprint_id="s")
        workspace.handle(StartSprint(), sprint_id="s")
        workspace.handle(StartPhase("build"), sprint_id="s")
        keep_only(workspace.repository, workspace.sprint("s"))
    done = subprocess.run(
        [sys.executable, "-c", RECORD, "phase", "complete", "build"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "phase-completed build" in done.stdout, done.stderr
    return set(done.stderr.split())


def test_recording_imports_nothing_that_it_does_not_use(imported: set[str]) -> None:
    """Completing a phase imports only the libraries that it uses."""
    # Older versions of msgspec use it to determine their own version.
    of_msgspec = {"json"} & modules_imported_by("msgspec")
    assert imported & UNUSED <= of_msgspec


def test_recording_imports_only_the_topics_that_it_meets(imported: set[str]) -> None:
    """A topic's rules are imported with the first event or command that is of it."""
    names = {name.removeprefix("sprintlog.engine.sprint.") for name in imported}
    assert {n for n in names if n in TOPICS} == set()


def test_recording_imports_no_more_of_ours_than_before(imported: set[str]) -> None:
    """Adding an import to all recording commands requires a change here."""
    ours = {name for name in imported if name.partition(".")[0] == "sprintlog"}
    assert len(ours) <= OURS_MAX, sorted(ours)


def test_recording_runs_through_few_modules(imported: set[str]) -> None:
    """`phase complete` runs through a limited number of modules."""
    through = {name for name in imported if name.startswith("through:sprintlog.")}
    assert 40 < len(through) <= THROUGH_MAX, sorted(through)


FOLD = """
import sys
from sprintlog.engine.sprint.events import IterationStarted, PhaseReopened, PhaseStarted
from sprintlog.engine.sprint.events import SprintCompiled, SprintStarted
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.sprint import Sprint

plan = {"sprint-id": "s", "phases": [{"id": "p", "status": "pending"}]}
events = [SprintCompiled(plan), SprintStarted(), IterationStarted(1)]
events += [PhaseStarted("p"), PhaseReopened("p", "again")]
at = "2026-01-15T09:00:00Z"
sprint = fold(Sprint("s"), [(n, at, event) for n, event in enumerate(events, start=1)])
print(sprint.version, sprint.plan.iteration, *sys.modules)
"""


def test_a_fold_imports_no_rules() -> None:
    """Folding a loop's events does not load code that only decisions need."""
    version, iteration, *modules = run_code(FOLD).split()
    names = {name.removeprefix("sprintlog.engine.sprint.") for name in modules}
    assert (version, iteration) == ("5", "1")
    assert "phases.changes" in names
    rules = {"plan.create", "iterations.loop", "phases.gate", "state.transitions"}
    assert not names & {*rules, "state.patch", "copy", "weakref"}


MUCH = """
import sys
from sprintlog.engine import hashes

little = hashes.sha256(b"little")
before = "_hashlib" in sys.modules
hashes.hash_much()
much = hashes.sha256(bytes(hashes.LITTLE_BYTES))
import hashlib
assert little.digest() == hashlib.sha256(b"little").digest()
assert much.digest() == hashlib.sha256(bytes(hashes.LITTLE_BYTES)).digest()
print(before, hashes.sha256 is hashlib.sha256)
"""


def run_code(code: str, *arguments: str) -> str:
    """Return the output of a process that runs some code."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH), "PYTHONDEVMODE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_much_is_hashed_by_the_library() -> None:
    """Little is hashed without the library, much with it, and to the same."""
    assert run_code(MUCH).split() == ["False", "True"]


LEFT = """
import atexit, sys
from sprintlog.cli.__main__ import main

class Held:
    def __del__(self):
        sys.__stdout__.write("taken apart")

held = Held()
if "awaited" in sys.argv:
    atexit.register(print, "called")
sys.argv[1:] = ["--version"]
main()
"""


def test_a_process_ends_at_once_unless_somebody_waits() -> None:
    """Nothing is torn down at exit, but registered exit functions are called."""
    assert run_code(LEFT).startswith("sprintlog, version")
    assert "taken apart" not in run_code(LEFT)
    assert "called" in run_code(LEFT, "awaited")
