"""What a shell offers when Tab is pressed: commands, options, and values from the log.

A shell asks with `_SPRINTLOG_COMPLETE`, its name, and `COMP_LINE`, the line up to the
cursor. The answer is a line for each word, a tab and its meaning behind it; `:files` or
`:folders` alone leaves it to the shell. Click finds out what the line asks for, and only
the command on the line is imported.
"""

import os
from collections.abc import Callable, Iterator

import click
from click.core import ParameterSource
from click.shell_completion import _resolve_context, _resolve_incomplete, split_arg_string

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.place.location import find as locate
from sprintlog.projections.workspace import Workspace

from .context import log_place, open_workspace
from .output import print_bytes, visible
from .typed import summary_of

SHELL, LINE, BREAKS = "_SPRINTLOG_COMPLETE", "COMP_LINE", "COMP_WORDBREAKS"
OFFERED_MAX = 200
ITERATIONS_MAX = 20
FILES, FOLDERS = ":files", ":folders"
Offer = tuple[str, str]
"""A word and what it means, which may be empty."""
Find = Callable[[Workspace, str | None], Iterator[Offer]]


def print_offers(root: click.Group) -> None:
    """Answer the shell that asks."""
    line = os.environ.get(LINE, "")
    words = split_arg_string(line)
    whole = words.pop() if words and not line[-1:].isspace() else ""
    context = _resolve_context(root, {}, "sprintlog", words[1:])
    asked, begun = _resolve_incomplete(context, words[1:], whole)
    before = whole.removesuffix(begun)
    is_bash = os.environ[SHELL] == "bash"
    strip = _stripped(whole) if is_bash else 0
    fitting = {
        word: meaning
        for word, meaning in _offers(context, asked, begun)
        if word.startswith((begun, ":f"))
    }
    lines = []
    for word, meaning in [*fitting.items()][:OFFERED_MAX]:
        said = f"\t{visible(meaning)}" if meaning and not is_bash else ""
        shown = word if word in (FILES, FOLDERS) else f"{before}{word}"[strip:]
        lines.append(f"{visible(shown)}{said}\n")
    print_bytes("".join(lines).encode())


def _offers(
    context: click.Context, asked: click.Command | click.Parameter, begun: str
) -> Iterator[Offer]:
    """Yield the words that may follow, those of a group in the order of its help."""
    if isinstance(asked, click.Parameter):
        yield from _values(context, asked)
    elif begun.startswith("-"):
        yield from _options(context)
    elif isinstance(asked, click.Group) and not [*context._protected_args, *context.args]:
        yield from _commands(context, asked)


def _commands(context: click.Context, group: click.Group) -> Iterator[Offer]:
    if context.parent is None:
        from .help.help import LINES

        yield from LINES.items()
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield name, summary_of(command) if command else ""


def _options(context: click.Context) -> Iterator[Offer]:
    for option in context.command.get_params(context):
        source = context.get_parameter_source(str(option.name))
        is_given = source is ParameterSource.COMMANDLINE and not option.multiple
        if isinstance(option, click.Option) and not is_given:
            meaning = " ".join((option.help or "").split())
            names = (*option.opts, *option.secondary_opts)
            yield from ((name, meaning) for name in names if name.startswith("--"))


def _values(context: click.Context, parameter: click.Parameter) -> Iterator[Offer]:
    is_point = parameter.metavar in ("POINT", "FROM", "TO", "[TO]", "[iter:N|N]")
    find = points if is_point else BY_NAME.get(str(parameter.name))
    if isinstance(parameter.type, click.Choice):
        yield from ((str(choice), "") for choice in parameter.type.choices)
    elif isinstance(parameter.type, click.Path) or parameter.name in _PATHS:
        yield (FOLDERS if parameter.name in _FOLDERS else FILES), ""
    elif find is not None:
        try:
            start, folder = log_place()
            # Completion must not create anything, not even the folder of a remote log.
            locate(start, folder=folder)
            with open_workspace(check_head=False) as workspace:
                yield from find(workspace, context.params.get("sprint_id"))
        except SprintlogError:
            # Without a log, or with one that cannot be read, there is nothing to offer.
            return


_FOLDERS = {"folder", "into", "sprint_dir", "target", "workflows"}
_PATHS = {"paths", "files", "agent", "reports", "sources", "prompt_file", "into"}
"""Texts that name files, though a command does not take them for paths."""


def _stripped(begun: str) -> int:
    """Return the length of the part of a word that bash splits off, and keeps itself."""
    breaks = os.environ.get(BREAKS, "")
    return max((begun.rfind(char) + 1 for char in breaks if not char.isspace()), default=0)


def sprints(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the sprints with their status."""
    for name, version in workspace.sprints().items():
        yield name, workspace.status_of(name, version)


def addresses(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the addresses of a sprint's plan, what can be executed first."""
    tree = workspace.sprint(workspace.choose(sprint_id)).plan.tree
    nodes = list(dict.fromkeys(tree.nodes.values()))
    for node in sorted(nodes, key=lambda node: bool(node.children)):
        if node.address:
            yield node.address, node.status


def points(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield points of a sprint: its newest iterations first."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for number, version in sprint.knowledge.iterations[: -ITERATIONS_MAX - 1 : -1]:
        yield f"iter:{number}", f"began with version {version}"
    yield "best", "where a rollback to the best iteration goes"
    yield "start", "the first event"
    yield f"version:{sprint.version}", "the last event"
    yield from (("yesterday", ""), ("today", ""), ("9:00", ""))


def iterations(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the numbers of a sprint's iterations, the newest first."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for number, version in sprint.knowledge.iterations[: -ITERATIONS_MAX - 1 : -1]:
        yield str(number), f"began with version {version}"


def requests(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the requests of a sprint's queue with their titles."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for entry in sprint.queue:
        yield str(entry["id"]), f"{entry.get('status')}: {entry.get('title')}"


def event_types(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield every event's type."""
    from sprintlog.engine.service.streams.catalogue import CODEC

    yield from ((tag, "") for tag in CODEC.events)


def actors(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the kinds of actors."""
    yield from (("operator", ""), ("runtime", ""), ("agent:", ""), ("import:", ""))


BY_NAME: dict[str, Callable[[Workspace, str | None], Iterator[Offer]]] = {
    "actor": actors,
    "actors": actors,
    "first": iterations,
    "iteration": iterations,
    "number": iterations,
    "one": points,
    "other": points,
    "phase": addresses,
    "point": points,
    "request": requests,
    "second": iterations,
    "sprint_id": sprints,
    "tag": event_types,
    "types": event_types,
}
"""By the name of an option or an argument: what finds its values."""
