"""What `phase inject` and `step inject` share: from their options to one injection."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.sprint.facts import InjectionPosition, Source
from sprintlog.engine.sprint.spots import AFTER_CURRENT, POSITIONS
from sprintlog.engine.sprint.state import Sprint
from sprintlog.engine.sprint.words import MODELS

from .intake.files import read_bytes, read_text
from .placing import source_of
from .recording import Options, Rule, act, answer_and_refresh
from .wiring import open_workspace, with_recording

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

ID_PREFIX = "injected"
"""What ids are made from where nothing else is said."""


class Given(NamedTuple):
    """What is to come in, and where it was read."""

    nodes: list[dict[str, Any]]
    id_prefix: str | None
    file: Path | None = None
    content: bytes = b""
    key: str = ""
    """What the file calls its list."""


def with_injection(*flags: Decorator) -> Decorator:
    """Return what adds the options of an injection, some flags among them."""
    options: list[Decorator] = [
        click.option("--prompt", metavar="TEXT", help="What is to be done."),
        click.option(
            "--prompt-file", metavar="FILE", help="A file with the prompt, - for stdin."
        ),
        click.option("--id", "identity", metavar="ID", help="Its id. [a new one]"),
        click.option("--model", type=click.Choice(MODELS), help="The model to execute it."),
        *flags,
        click.option(
            "--file",
            type=click.Path(path_type=Path),
            help="Several at once, in the shape of a plan; YAML or JSON.",
        ),
        click.option(
            "--prefix",
            metavar="TEXT",
            help=f"Make ids from it: TEXT-0, TEXT-1 …, never twice. [{ID_PREFIX}]",
        ),
        click.option(
            "--position",
            default=AFTER_CURRENT,
            metavar="WHERE",
            callback=_position,
            help="after-current, before:ADDRESS, after:ADDRESS, end-of-phase[:ADDRESS] or "
            "end-of-workflow. [after-current]",
        ),
    ]

    def decorate(function: Function) -> Function:
        function = with_recording(function)
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _position(
    context: click.Context, parameter: click.Parameter, value: str
) -> InjectionPosition:
    kind, _, ref = value.partition(":")
    if kind not in POSITIONS:
        raise click.BadParameter(f"{value[:60]!r} is none of {', '.join(POSITIONS)}")
    return InjectionPosition(kind, ref or None)


def given_nodes(
    options: Mapping[str, Any], *, key: str, flags: Mapping[str, Any] | None = None
) -> Given:
    """Return what is to come in; `key` is what a file calls its list.

    Raise `click.UsageError` where the options do not go together.
    """
    names = ("prompt", "prompt_file", "file")
    chosen = [name for name in names if options[name] is not None]
    if len(chosen) != 1:
        raise click.UsageError("give one of --prompt, --prompt-file and --file")
    one = {"id": options["identity"], "model": options["model"], **(flags or {})}
    said = [f"--{name}" for name, value in one.items() if value]
    prefix: str | None = options["prefix"]
    if prefix is not None and options["identity"] is not None:
        raise click.UsageError("give --id or --prefix, not both")
    if options["file"] is not None:
        if said:
            raise click.UsageError(f"{said[0]} goes with one prompt, not with --file")
        return _from_file(options["file"], prefix, key)
    prompt = options["prompt"]
    if prompt is None:
        prompt = read_text(options["prompt_file"])
    node = {"id": one.pop("id"), "prompt": prompt}
    node |= {name: value for name, value in one.items() if value}
    if node["id"] is None and prefix is None:
        prefix = ID_PREFIX
    return Given([node], prefix)


def inject(
    command: str,
    given: Mapping[str, Any],
    rule: Rule,
    what: Given,
    position: InjectionPosition,
) -> None:
    """Run an injection from what was given to its answer."""
    options = Options(given)
    wish = options.masked({"nodes": what.nodes}) | {
        "position": position,
        "id_prefix": what.id_prefix,
    }
    with open_workspace() as workspace:
        sources: tuple[Source, ...] = ()
        if what.file is not None:
            sources = (source_of(workspace.location, what.file, what.content),)

        def decide(sprint: Sprint, at: str) -> list[Fact]:
            try:
                return rule(sprint, **wish, sources=sources)
            except RefusedError as error:
                raise _named(error, what) from error

        sprint_id = workspace.choose(options.sprint_id)
        outcome = act(workspace, sprint_id, command, decide, options, wish)
        answer_and_refresh(workspace, outcome, as_json=options.as_json)


def _named(error: RefusedError, what: Given) -> RefusedError:
    """Return a refusal that names the option or the file's field instead of a node."""
    field = str(error.fields.get("field") or "")
    if not field.startswith("nodes"):
        return error
    problem = error.message.removeprefix(f"{field}: ")
    if what.file is None:
        field = f"--{field.partition('].')[2] or 'prompt'}"
        return InvalidInputError(problem, field=field, hint=error.hint)
    field = what.key + field.removeprefix("nodes")
    return InvalidInputError(problem, file=str(what.file), field=field, hint=error.hint)


def _from_file(file: Path, id_prefix: str | None, key: str) -> Given:
    from .intake.progress import read_nodes

    content = read_bytes(file)
    nodes = read_nodes(content, file=str(file), key=key)
    return Given(nodes, id_prefix, file, content, key)
