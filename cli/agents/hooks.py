"""The `sprintlog hooks` commands: install, remove and inspect agent hooks."""

import os
from collections.abc import Iterator
from pathlib import Path

from sprintlog.engine.adapters.hooks.files import SCOPES, HookFile, HookLocation
from sprintlog.engine.adapters.hooks.forms import FILES, HOOKS, MCP
from sprintlog.engine.adapters.hooks.preconditions import Hindrance, covered_by, hindrances
from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.readable import quoted
from sprintlog.engine.service.place.location import INSTALLED as KEPT
from sprintlog.projections.views.settings import HookNote, HooksOfAgent, HooksStatus

from .. import typed
from ..back.agreement import with_dry_run
from ..context import find_log, here, with_json
from ..output import hint, print_answer, table


def around_here() -> HookLocation:
    """Return where to look for hooks: the project, the home folder and the environment."""
    try:
        location = find_log()
    except NotFoundError:
        start = here()
        tops = (at for at in (start, *start.parents) if (at / ".git").exists())
        return HookLocation(next(tops, start), Path.home(), os.environ)
    return HookLocation(location.root, Path.home(), os.environ, location.folder / KEPT)


INSTALLED, OUTDATED, MISSING = "installed", "outdated", "missing"


@typed.group("hooks")
def command() -> None:
    """Install hooks that record an agent's activity: sessions, tools and changed files.

    The agent's hooks run `sprintlog hook AGENT`, which prints nothing, never fails and
    records actions but not file contents. Installing hooks does not make a folder trusted.
    """


_with_file = typed.several(
    typed.argument("agent_name", metavar="AGENT", type=typed.Choice([*FILES[HOOKS]])),
    typed.choice_option(
        "--scope",
        of=[*SCOPES],
        default=SCOPES[0],
        help="Use the project's settings, or your own for all projects. [project]",
    ),
    typed.flag(
        "--mcp", "is_mcp", help="Use the tools of `sprintlog mcp` instead of the hooks."
    ),
    with_dry_run,
    with_json,
)


@command.command("install")
@_with_file
def install(
    agent_name: str, scope: str, is_mcp: bool, dry_run: bool, as_json: bool
) -> None:
    """Add sprintlog's hooks to an agent's settings; running this command again is safe.

    If a setting prevents the agent from running the hooks, the setting and a remedy are
    printed. With --mcp, an entry is added to the agent's list of MCP servers.

    Example: sprintlog hooks install claude
    """
    around = around_here()
    file = around.file(agent_name, scope, what=MCP if is_mcp else HOOKS)
    if (other := covered_by(file, around)) is not None and not file.events():
        raise RefusedError(
            f"{agent_name} is already covered: it also runs the hooks in {other}",
            hint="use `sprintlog hooks install copilot --scope user` for other projects",
            file=str(other),
        )
    changed = file.install(is_dry=dry_run)
    answer = _state(file, around, changed=changed, done=not dry_run)
    print_answer(answer, _lines_of(answer, "install"), as_json=as_json)
    if not as_json:
        _say_notes([answer])


@command.command("uninstall")
@_with_file
def uninstall(
    agent_name: str, scope: str, is_mcp: bool, dry_run: bool, as_json: bool
) -> None:
    """Remove sprintlog's hooks from an agent's settings; nothing else changes.

    A file that has not changed since the installation is restored byte for byte.

    Example: sprintlog hooks uninstall claude
    """
    around = around_here()
    file = around.file(agent_name, scope, what=MCP if is_mcp else HOOKS)
    changed = file.uninstall(is_dry=dry_run)
    answer = _state(file, around, changed=changed, done=not dry_run, notes=False)
    print_answer(answer, _lines_of(answer, "uninstall"), as_json=as_json)


@command.command("status")
@typed.argument(
    "agent_name", metavar="[AGENT]", type=typed.Choice([*FILES[HOOKS]]), required=False
)
@with_json
def status(agent_name: str | None, as_json: bool) -> None:
    """Show the installed hooks and tools, and reasons why they might not run.

    Example: sprintlog hooks status
    """
    around = around_here()
    agents = [agent_name] if agent_name else [*FILES[HOOKS]]
    files = [
        around.file(one, scope, what=what)
        for one in agents
        for what in (HOOKS, MCP)
        for scope in SCOPES
    ]
    answer = HooksStatus([_state(file, around) for file in files])
    print_answer(answer, _table(answer), as_json=as_json)
    if not as_json:
        _say_notes(answer.hooks)


def _state(
    file: HookFile,
    around: HookLocation,
    *,
    changed: bool = False,
    done: bool = True,
    notes: bool = True,
) -> HooksOfAgent:
    events = file.events()
    state = INSTALLED if file.is_current() else OUTDATED if events else MISSING
    found = [*hindrances(file, around)] if notes and (events or not done) else []
    if events and notes and file.scope == SCOPES[0]:
        found += _elsewhere(around)
    return HooksOfAgent(
        agent=file.form.agent,
        what=file.what,
        scope=file.scope,
        file=str(file.path),
        state=state,
        events=events,
        changed=changed,
        done=done,
        notes=[HookNote(one.says, one.helps) for one in found],
    )


def _elsewhere(around: HookLocation) -> Iterator[Hindrance]:
    """Yield a notice that only agents started in the project root read the settings."""
    if (root := around.project) != here():
        yield Hindrance(
            f"an agent that is started in {here()} does not read it, only one in {root}",
            f"`cd {quoted(str(root))}` before you start the agent",
        )


def _lines_of(answer: HooksOfAgent, action: str) -> Iterator[str]:
    what = "the hook" if answer.what == HOOKS else "the server"
    if not answer.changed:
        where = "is installed already" if action == "install" else "is not installed"
        yield f"{what} of {answer.agent} {where}: {answer.file}"
    elif not answer.done:
        yield f"would {action} {what} of {answer.agent}: {answer.file}"
    elif action == "install":
        yield f"installed {what} of {answer.agent} in {answer.file}"
        if answer.what == HOOKS:
            yield f"it runs at {', '.join(answer.events)}"
    else:
        yield f"removed {what} of {answer.agent} from {answer.file}"


def _table(answer: HooksStatus) -> Iterator[str]:
    rows = [(one.agent, one.what, one.scope, one.state, one.file) for one in answer.hooks]
    yield from table(rows, spare=(4,))


def _say_notes(found: list[HooksOfAgent]) -> None:
    said: set[str] = set()
    for one in found:
        for note in one.notes:
            if note.says not in said:
                said.add(note.says)
                hint(note.says + (f": {note.helps}" if note.helps else ""))
