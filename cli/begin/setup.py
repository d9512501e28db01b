"""The `sprintlog setup` command: install everything that agents need, or remove it."""

import json
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from sprintlog.engine.adapters.hooks.files import SCOPES, HookFile
from sprintlog.engine.adapters.hooks.forms import (
    EVERYBODY,
    FILES,
    HOOKS,
    MCP,
    MEASURE,
    SECTION,
    SKILL,
    TRANSCRIPTS,
)
from sprintlog.engine.adapters.hooks.preconditions import covered_by, hindrances
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.readable import quoted
from sprintlog.engine.service.place.location import INSTALLED, is_everything, place_for_new
from sprintlog.engine.service.place.trust import safe_list
from sprintlog.projections.views.log import Offer
from sprintlog.projections.views.settings import HookNote, SetupAnswer, SetupStep
from sprintlog.projections.workspace import Workspace

from .. import settings, typed
from ..agents.mcp import NEEDED
from ..agents.uninstall import around_here, removals, remove_log
from ..back.agreement import Agreement, agree, asks, with_asking
from ..context import find_log, here, log_place, open_workspace, with_json
from ..output import counted, hint, print_json, print_text
from ..settings import trust
from .init import suggestions_here, take_offer
from .suggestions import AgentFiles, agents_of, look, measure_of, offers

MADE = "log"
"""The file in a log's folder that states that `setup` created the log."""
SAYS = {
    HOOKS: "hooks of {}",
    MCP: "MCP server for {}",
    SECTION: "a section for agents",
    SKILL: "a skill for agents",
    MEASURE: "the tests as the measure: {}",
    TRANSCRIPTS: "masked copies of transcripts",
}
_MEASURE, _COPIES = "measure.run", "hooks.copy-transcripts"


@typed.command("setup")
@typed.argument("agents", metavar="[AGENT…]", nargs=-1, type=typed.Choice([*FILES[HOOKS]]))
@typed.choice_option(
    "--scope",
    of=[*SCOPES],
    default=SCOPES[0],
    help="Set up the work tree, or change only your own files, for all projects. [project]",
)
@typed.flag(
    "--copy-transcripts",
    "copies",
    help="Keep masked copies of the agents' transcripts in the log's folder.",
)
@typed.flag("--check", "checks", help="Change nothing; exit with 1 if anything differs.")
@typed.flag("--remove", "removes", help="Remove everything that setup installed.")
@with_asking
@with_json
def command(
    agents: tuple[str, ...],
    scope: str,
    copies: bool,
    checks: bool,
    removes: bool,
    wanted: Agreement,
    as_json: bool,
) -> None:
    """Set up this work tree for agents: log, hooks, tools, instructions and measure.

    Without AGENT, the agents are those on the PATH and those with files in the work tree.
    For each of them, hooks, the entry of `sprintlog mcp`, a section of AGENTS.md or
    CLAUDE.md, and a skill are installed. The command that runs the tests is written to
    sprintlog.toml unless a measure is set. A PROGRESS.yaml or prd.json is imported into an
    empty log. The changes are shown first; nothing that is found is run. Reasons why an
    agent may not use the installed content are printed as hints, also by --check.

    Only a sprintlog.toml that this command creates is trusted without a further prompt.
    --remove restores all files byte for byte; a file that has changed since loses only
    sprintlog's content, and a log that contains events stays.

    Examples: sprintlog setup

    sprintlog setup claude codex --yes

    sprintlog setup claude --scope user

    sprintlog setup --check
    """
    if checks and (removes or copies or wanted.yes or wanted.dry_run):
        raise click.UsageError("--check cannot be combined with options that change files")
    is_own = scope != SCOPES[0]
    if copies and (removes or is_own):
        other = "--remove" if removes else "--scope user"
        raise click.UsageError(f"{other} cannot be combined with --copy-transcripts")
    around = around_here()
    if is_everything(around.project) and not is_own:
        raise RefusedError(
            f"{around.project} contains nearly everything, so it is not set up",
            hint="run `sprintlog setup` in a project's folder, or use --scope user",
            file=str(around.project),
        )
    root = around.home if is_own else around.project
    found = look(root, path=around.environment.get("PATH", ""))
    it = AgentFiles(around, found, list(dict.fromkeys(agents)), copies, scope, root)
    if removes:
        _remove(it, wanted, as_json=as_json)
        return
    chosen = it.agents or (_installed(it) if checks else []) or agents_of(found)
    chosen = [one for one in chosen if one in FILES[HOOKS]]
    _install(it._replace(agents=chosen), wanted, checks=checks, as_json=as_json)


def _installed(it: AgentFiles) -> list[str]:
    """Return the agents whose hooks or servers are installed in this scope."""
    found = []
    for agent in FILES[HOOKS]:
        with suppress(InvalidInputError):
            if not any(it.file(agent, what).events() for what in (HOOKS, MCP)):
                continue
        found.append(agent)
    return found


def _files(it: AgentFiles) -> Iterator[HookFile]:
    """Yield the files to be changed, in an order whose reverse restores all bytes."""
    given, in_project = _given()
    if not (in_project or it.is_own):
        measure = it.file(EVERYBODY, MEASURE)
        if measure.form.content and (_MEASURE not in given or measure.is_current()):
            yield measure
        if it.copies and _COPIES not in given:
            yield it.file(EVERYBODY, TRANSCRIPTS)
    shared: dict[Path, HookFile] = {}
    for agent in it.agents:
        hooks = it.file(agent, HOOKS)
        covered = agent == "copilot" and "claude" in it.agents and not it.is_own
        if hooks.path.exists() or not (covered or covered_by(hooks, it.around)):
            yield hooks
        if _has_tools():
            yield it.file(agent, MCP)
        skill = it.file(agent if agent in FILES[SKILL] else EVERYBODY, SKILL)
        for one in (skill,) if it.is_own else (it.section(agent), skill):
            shared.setdefault(one.path, one)
    yield from shared.values()


def _given() -> tuple[Collection[str], bool]:
    """Return the keys that are set, and whether they are in pyproject.toml."""
    found = settings.settings_file()
    return ((), False) if found is None else (found.given, found.path.name != settings.NAME)


def _step(
    it: AgentFiles, file: HookFile, action: str, problem: str | None = None
) -> SetupStep:
    detail = file.form.agent
    if file.what == MEASURE:
        detail = ", ".join(json.loads(file.form.content.partition("= ")[2] or "[]"))
    path = os.path.relpath(file.path, it.root)
    return SetupStep(file.what, path, action, SAYS[file.what].format(detail), problem)


def _planned(
    it: AgentFiles, *, checks: bool
) -> tuple[list[SetupStep], list[HookFile], Offer | None]:
    """Return the steps, the files to change, and the plan to import."""
    steps, todo, is_empty = [], [], not checks
    try:
        if not it.is_own:
            find_log()
            with open_workspace() as workspace:
                is_empty &= not workspace.log.last_position()
    except NotFoundError:
        start, named = log_place()
        folder = str(place_for_new(start, folder=named).folder)
        steps.append(SetupStep("log", folder, "create", "the log"))
    for file in _files(it):
        try:
            if file.is_current():
                continue
            file.install(is_dry=True)
        except InvalidInputError as error:
            steps.append(_step(it, file, "skip", error.message))
            continue
        steps.append(_step(it, file, "update" if file.path.exists() else "create"))
        todo.append(file)
    plans = suggestions_here(it.root) if is_empty and not it.is_own else ()
    if offer := next((one for one in plans if _is_plan(one)), None):
        steps.append(SetupStep("plan", offer.found, "import", offer.says))
    return steps, todo, offer


def _install(it: AgentFiles, wanted: Agreement, *, checks: bool, as_json: bool) -> None:
    """Show the missing content, and install it if the user agrees."""
    steps, todo, offer = _planned(it, checks=checks)
    can = any(one.problem is None for one in steps)
    does = can and not (checks or wanted.dry_run)
    notes = _notes(it)
    answer = SetupAnswer(str(it.root), it.agents, steps, does, notes)
    _show(it, answer, wanted, as_json=as_json)
    if does:
        _apply(steps, todo)
    _print_end(answer, as_json=as_json)
    if not (checks or wanted.dry_run or it.is_own):
        _say_trust(steps, wanted, as_json=as_json)
    for one in () if as_json else notes:
        hint(one.says + (f": {one.helps}" if one.helps else ""))
    if does and offer:
        take_offer(offer, *(["--json"] if as_json else []))
    if (checks and steps) or any(one.problem for one in steps):
        sys.exit(1)


def _show(
    it: AgentFiles,
    answer: SetupAnswer,
    wanted: Agreement,
    *,
    as_json: bool,
    removes: bool = False,
) -> None:
    """Print the steps, and raise `RefusedError` unless the user agrees to them."""
    if not as_json:
        print_text(*_lines(it, answer, removes=removes))
    if answer.done and not wanted.yes:
        agree(is_asked=asks(as_json=as_json), remark="")


def _print_end(answer: SetupAnswer, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif answer.done:
        changes = sum(one.problem is None for one in answer.steps)
        print_text(f"done: {counted(changes, 'change')}")


def _is_plan(offer: Offer) -> bool:
    words = (offer.command or "").split()[1:3]
    return offer.safe or words == ["import", "prd"]


def _apply(steps: list[SetupStep], todo: list[HookFile]) -> None:
    """Create the log and change the files."""
    if any(one.what == "log" for one in steps):
        start, named = log_place()
        address = settings.log_address()
        with Workspace.init(start, folder=named, address=address, safe=safe_list()) as made:
            folder = made.location.folder / INSTALLED
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / MADE).touch(mode=0o600)
        todo = [one._replace(fallback=folder) for one in todo]
    for file in todo:
        file.install()


def _say_trust(steps: list[SetupStep], wanted: Agreement, *, as_json: bool) -> None:
    """Trust a settings file that this command created; ask before trusting another."""
    settings.forget()
    found = settings.settings_file()
    if found is None or found.is_trusted:
        return
    created = any((one.file, one.action) == (settings.NAME, "create") for one in steps)
    trusts = created and {_MEASURE, _COPIES}.issuperset(found.needs_trust)
    says = ", ".join(f"{key} = {value}" for key, value in found.needs_trust.items())
    if not trusts and not wanted.yes and asks(as_json=as_json):
        trusts = click.confirm(f"trust {found.path}, which sets {says}?", err=True)
    if not trusts:
        hint(f"{found.path} is not trusted: `sprintlog config --trust`")
        return
    try:
        trust.trust(found.folder, found.digest)
    except OSError as error:
        hint(f"{found.path} cannot be trusted: {error.strerror}: {error.filename}")


def _notes(it: AgentFiles) -> list[HookNote]:
    """Return why the content may not be used, or may be used twice."""
    files = [one for one in _files(it) if one.what in (HOOKS, MCP)]
    found = {one.says: one for file in files for one in hindrances(file, it.around)}
    notes = [HookNote(one.says, one.helps) for one in found.values()]
    for one in it.around.files(SCOPES[not it.is_own]):
        with suppress(InvalidInputError):
            if one.what in (HOOKS, MCP) and one.events():
                says = SAYS[one.what].format(one.form.agent)
                notes.append(HookNote(f"also installed: {says}, in {one.path}"))
    if files and not it.is_own and it.root != here():
        helps = f"`cd {quoted(str(it.root))}` before you start the agent"
        notes.append(
            HookNote(f"an agent started in {here()} does not read the files", helps)
        )
    given, in_project = _given()
    unmeasured = in_project and not it.is_own and _MEASURE not in given
    if unmeasured and (measure := measure_of(it.found)):
        helps = f'`measure.run = ["{measure}"]`'
        notes.append(HookNote("[tool.sprintlog] sets no measure; add it by hand", helps))
    if it.agents and not _has_tools():
        notes.append(HookNote("the MCP server requires the extra `mcp`"))
    return notes


def _has_tools() -> bool:
    return all(find_spec(name) for name in NEEDED)


def _lines(it: AgentFiles, answer: SetupAnswer, *, removes: bool = False) -> Iterator[str]:
    if not removes:
        found = [*answer.agents]
        if not it.is_own:
            measure = measure_of(it.found)
            found += [f"the tests: {measure}"] if measure else []
            kinds = ("state", "plan", "loop")
            found += [one.found for one in offers(it.found) if one.kind in kinds]
        yield f"found in {it.root}: {', '.join(found) or 'nothing'}"
    for one in answer.steps:
        problem = f": {one.problem}" if one.problem else ""
        yield f"{one.action} {one.file}: {one.says}{problem}"
    if not answer.steps:
        yield "nothing is installed" if removes else "everything is set up"
    if not (removes or answer.agents):
        names = ", ".join(FILES[HOOKS])
        yield f"no agent was found; add one with `sprintlog setup AGENT`: {names}"


def _remove(it: AgentFiles, wanted: Agreement, *, as_json: bool) -> None:
    """Show the installed content, and remove it if the user agrees."""
    found = [*removals(_removable(it))]
    steps = [_step(it, one, "keep" if said else "remove", said) for one, said in found]
    todo = [one for one, said in found if said is None]
    log = None if it.agents or it.is_own else _log_step(it)
    steps += [log] if log else []
    does = any(one.problem is None for one in steps) and not wanted.dry_run
    answer = SetupAnswer(str(it.root), it.agents, steps, does)
    _show(it, answer, wanted, as_json=as_json, removes=True)
    if does:
        file = settings.settings_file()
        was_trusted = file is not None and bool(file.needs_trust) and file.is_trusted
        for one in todo:
            one.uninstall()
        if any(one.what in (MEASURE, TRANSCRIPTS) for one in todo):
            _forget_trust(it.root, was_trusted=was_trusted)
        if log and log.problem is None:
            remove_log(find_log())
    _print_end(answer, as_json=as_json)


def _removable(it: AgentFiles) -> list[HookFile]:
    """Return the files of a scope, in an order that restores all bytes."""
    found = [it.file(one.form.agent, one.what) for one in it.around.files(it.scope)]
    if it.agents:
        rest = [agent for agent in _installed(it) if agent not in it.agents]
        stays = {one.path for one in _files(it._replace(agents=rest))}
        stays |= {one.path for one in found if one.what in (MEASURE, TRANSCRIPTS)}
        named = (*it.agents, EVERYBODY)
        found = [one for one in found if one.form.agent in named or one.what == SECTION]
        found = [one for one in found if one.path not in stays]
    return found[::-1]


def _log_step(it: AgentFiles) -> SetupStep | None:
    """Return the removal of the log if `setup` created it; a log with events stays."""
    try:
        location = find_log()
    except NotFoundError:
        return None
    if not (location.folder / INSTALLED / MADE).exists():
        return None
    with open_workspace() as workspace:
        events = workspace.log.last_position()
    folder = str(location.folder)
    if events:
        return SetupStep("log", folder, "keep", "the log", "it contains events")
    return SetupStep("log", folder, "remove", "the log")


def _forget_trust(root: Path, *, was_trusted: bool) -> None:
    """Remove the trust in settings that no longer exist; trust in the rest stays."""
    settings.forget()
    found = settings.settings_file()
    if found is not None and found.needs_trust and was_trusted:
        trust.trust(found.folder, found.digest)
    elif was_trusted:
        trust.forget(root)
