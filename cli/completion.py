"""Shell completion: values from the log, and click's completion of commands and options.

The shell sets `_SPRINTLOG_COMPLETE` to its name and `COMP_LINE` to the line up to the
cursor. The answer has one line per completion: a word, a tab and the word's description;
`:files` or `:folders` alone delegates to the shell. Only the command on the line is
imported.
"""

import os
from collections.abc import Callable, Iterator
from itertools import islice

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.place.location import find as locate
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.projections.workspace import Workspace

from .context import log_place, open_workspace
from .help.help import LINES
from .output import print_bytes, visible

SHELL, LINE, BREAKS = "_SPRINTLOG_COMPLETE", "COMP_LINE", "COMP_WORDBREAKS"
OFFERED_MAX = 200
ITERATIONS_MAX = 20
WORDS = {"file": ":files", "dir": ":folders"}
Offer = tuple[str, str]
"""A completion and its meaning, which may be empty."""


def print_offers(root: click.Group) -> None:
    """Print the completions that the shell requests."""
    print_bytes(LineComplete(root, {"obj": values}, "sprintlog", SHELL).complete().encode())


class LineComplete(ShellComplete):
    """Completion of a command line, based on the words as typed by the user.

    Bash splits words at colons and equals signs, and click's scripts rely on that split.
    """

    name = "line"

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words after the program's name, and the incomplete word."""
        line = os.environ.get(LINE, "")
        words = split_arg_string(line)
        self.begun = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], self.begun

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the line's completions, limited to a readable number."""
        return super().get_completions(args, incomplete)[:OFFERED_MAX]

    def format_completion(self, item: CompletionItem) -> str:
        """Return a word and its description, without the part that Bash keeps."""
        if item.type in WORDS:
            return WORDS[item.type]
        option, equals, _ = self.begun.partition("=")
        word = f"{option}=" if equals and option.startswith("-") else ""
        word = visible(f"{word}{item.value}")
        if os.environ[SHELL] == "bash":
            breaks = [char for char in os.environ.get(BREAKS, "") if not char.isspace()]
            return word[max((self.begun.rfind(char) + 1 for char in breaks), default=0) :]
        return f"{word}\t{visible(' '.join(item.help.split()))}" if item.help else word


def commands(begun: str) -> list[CompletionItem]:
    """Return the commands of sprintlog with their summaries."""
    fitting = filter(lambda name: name.startswith(begun), LINES)
    return [CompletionItem(name, help=LINES[name]) for name in fitting]


def values(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem] | None:
    """Return a parameter's values from the log, or None if its type provides completion."""
    if isinstance(parameter.type, click.Choice):
        return None
    if isinstance(parameter.type, click.Path) or parameter.name in _PATHS:
        is_folder = parameter.name in _FOLDERS
        return [CompletionItem(begun, type="dir" if is_folder else "file")]
    is_point = parameter.metavar in ("POINT", "FROM", "TO", "[TO]", "[iter:N|N]")
    find = points if is_point else BY_NAME.get(str(parameter.name))
    if find is None:
        return None
    try:
        start, folder = log_place()
        # Completion must not create anything, not even the folder of a remote log.
        locate(start, folder=folder)
        with open_workspace(check_head=False) as workspace:
            offers = find(workspace, context.params.get("sprint_id"))
            fitting = (offer for offer in offers if offer[0].startswith(begun))
            found = dict(islice(fitting, OFFERED_MAX))
    except SprintlogError:
        # Without a readable log, there are no completions.
        return []
    return [CompletionItem(word, help=meaning) for word, meaning in found.items()]


_FOLDERS = {"folder", "into", "sprint_dir", "target", "workflows"}
_PATHS = {"paths", "files", "agent", "reports", "sources", "prompt_file", "into"}
"""Text parameters that accept file names, although their type is not a path."""


def sprints(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the sprints with their statuses."""
    for name, version in workspace.sprints().items():
        yield name, workspace.status_of(name, version)


def addresses(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the addresses in a sprint's plan, executable nodes first."""
    tree = workspace.sprint(workspace.choose(sprint_id)).plan.tree
    nodes = list(dict.fromkeys(tree.nodes.values()))
    for node in sorted(nodes, key=lambda node: bool(node.children)):
        if node.address:
            yield node.address, node.status


def points(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield points of a sprint, newest iterations first."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for number, version in sprint.knowledge.iterations[: -ITERATIONS_MAX - 1 : -1]:
        yield f"iter:{number}", f"began with version {version}"
    yield "best", "where a rollback to the best iteration goes"
    yield "start", "the first event"
    yield f"version:{sprint.version}", "the last event"
    yield from (("yesterday", ""), ("today", ""), ("9:00", ""))


def iterations(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the numbers of a sprint's iterations, newest first."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for number, version in sprint.knowledge.iterations[: -ITERATIONS_MAX - 1 : -1]:
        yield str(number), f"began with version {version}"


def requests(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the requests in a sprint's queue with their titles."""
    for entry in workspace.sprint(workspace.choose(sprint_id)).queue:
        yield str(entry["id"]), f"{entry.get('status')}: {entry.get('title')}"


def event_types(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield all event types."""
    yield from ((tag, "") for tag in CODEC.events)


def actors(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield all kinds of actors."""
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
"""The function that finds the values of an option or an argument, by its name."""
