"""The `phase inject` command, and the code that it shares with `step inject`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.plan import insertion_points
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps
from sprintlog.engine.sprint.state.words import MODELS

from ...cli import typed
from ..context import with_recording
from ..intake.files import read_bytes, read_text
from ..output import print_problems, warn
from ..places import source_of
from ..record import arguments_of, recording

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]
Chosen = Mapping[str, Any]
"""The command-line options by parameter name."""

ID_PREFIX = "injected"
"""The default prefix for new ids."""
WAYS = ("prompt", "prompt_file", "file", "workflow")
"""The options that provide the work to inject."""
OF_ONE_PROMPT = {"identity": "--id", "model": "--model", "breaks": "--break"}


class Coming(NamedTuple):
    """The nodes to inject, and the files from which they were read."""

    nodes: list[dict[str, Any]]
    named: str | None = None
    """The file or workflow to name in errors about fields; None for options."""
    read: Sequence[tuple[Path, bytes]] = ()


def _position(
    context: click.Context, parameter: click.Parameter, value: str
) -> InjectionPosition:
    if (position := insertion_points.parse_position(value)) is None:
        raise click.BadParameter(
            f"{value[:60]!r} is not one of {', '.join(insertion_points.POSITIONS)}"
        )
    return position


with_position = typed.option(
    "--position",
    default=insertion_points.AFTER_CURRENT,
    metavar="WHERE",
    callback=_position,
    help="The position: after-current, before:ADDRESS, after:ADDRESS, "
    "end-of-phase[:ADDRESS] (last in that phase, or in the current one) or end-of-workflow "
    "(last of all). [after-current]",
)


with_workflow = typed.several(
    typed.option("--workflow", metavar="NAME", help="Add all phases of a workflow."),
    typed.folder_option(
        "--workflows", help="The folder of workflows. [the nearest .claude/workflows above]"
    ),
)
"""The options for a complete workflow: its name, and the folder that contains it."""


def with_injection(*more: Decorator) -> Decorator:
    """Return a decorator that adds the injection options and the other given options."""
    return typed.several(
        typed.option("--prompt", help="The prompt."),
        typed.option(
            "--prompt-file", metavar="FILE", help="A file with the prompt; - for stdin."
        ),
        typed.option("--id", "identity", metavar="ID", help="The id. [a new one]"),
        typed.choice_option("--model", of=MODELS, help="The model to execute it."),
        typed.file_option(
            "--file", help="Add several from a file, in the format of a plan; YAML or JSON."
        ),
        *more,
        typed.option(
            "--prefix",
            help=f"Prefix of new ids: TEXT-0, TEXT-1 …, never reused. [{ID_PREFIX}]",
        ),
        with_position,
        with_recording,
    )


def inject(
    name: str, given: Chosen, kind: type[InjectPhases | InjectSteps], *, key: str
) -> None:
    """Run an injection command; `key` is the name of the list in the file."""
    _check_usage(given, key)
    id_prefix: str | None = given["prefix"]
    is_one = given["file"] is None and given.get("workflow") is None
    if is_one and id_prefix is None and given["identity"] is None:
        id_prefix = ID_PREFIX
    with recording(name, given) as run:
        coming = _coming(given, key, run.sprint_id)
        nodes = run.options.masked({"nodes": coming.nodes})["nodes"]
        sources = tuple(source_of(run.workspace.location, *read) for read in coming.read)
        command = kind(nodes, given["position"], id_prefix, sources)
        arguments = arguments_of(command, ("nodes", "position", "id_prefix"))
        try:
            outcome = run.handle_with(command, arguments)
        except RefusedError as error:
            raise named(error, coming, key) from error
        run.answer(outcome)


def _check_usage(given: Chosen, key: str) -> None:
    """Raise `click.UsageError` if the options are incompatible."""
    chosen = [way for way in WAYS if given.get(way) is not None]
    if len(chosen) != 1:
        ways = "--prompt, --prompt-file, --file" + ", --workflow" * ("workflow" in given)
        raise click.UsageError(f"specify exactly one of {ways}")
    if given["prefix"] is not None and given["identity"] is not None:
        raise click.UsageError("--id and --prefix cannot be combined")
    if given.get("workflows") is not None and chosen != ["workflow"]:
        raise click.UsageError("--workflows requires --workflow")
    said = [option for name, option in OF_ONE_PROMPT.items() if given.get(name)]
    if said and chosen[0] in ("file", "workflow"):
        raise click.UsageError(f"{said[0]} cannot be combined with --{chosen[0]}")


def _coming(given: Chosen, key: str, sprint_id: str) -> Coming:
    """Return the nodes to inject, read from the source given by the options."""
    if (workflow := given.get("workflow")) is not None:
        return of_workflow(workflow, given["workflows"], sprint_id)
    if (file := given["file"]) is not None:
        from ..intake.progress import read_nodes

        content = read_bytes(file)
        nodes, remarks = read_nodes(content, file=str(file), key=key)
        for remark in remarks:
            warn(f"{file}: {remark}")
        return Coming(nodes, str(file), [(file, content)])
    prompt = given["prompt"]
    node = {
        "id": given["identity"],
        "prompt": prompt if prompt is not None else read_text(given["prompt_file"]),
        "model": given["model"],
        "break": given.get("breaks") or None,
    }
    said = {name: value for name, value in node.items() if value is not None}
    return Coming([said])


def of_workflow(workflow: str, folder: Path | None, sprint_id: str) -> Coming:
    """Return a workflow's phases, and print its warnings."""
    from ..intake.definition import as_fields, compile_workflow

    compiled = compile_workflow(workflow, sprint_id=sprint_id, workflows=folder)
    print_problems([as_fields(problem) for problem in compiled.warnings])
    return Coming(compiled.plan["phases"], workflow, compiled.read)


def named(error: RefusedError, coming: Coming, key: str) -> RefusedError:
    """Return an error that names the option or the field in the file, not a node."""
    field = str(error.fields.get("field") or "")
    if not field.startswith("nodes"):
        return error
    problem = error.message.removeprefix(f"{field}: ")
    if coming.named is None:
        field = f"--{field.partition('].')[2] or 'prompt'}"
        return InvalidInputError(problem, field=field, hint=error.hint)
    field = key + field.removeprefix("nodes")
    return InvalidInputError(problem, file=coming.named, field=field, hint=error.hint)


@typed.command("inject")
@with_injection(
    typed.flag("--break", "breaks", help="Pause the sprint afterwards."), with_workflow
)
def command(**given: Any) -> None:
    """Insert phases into the plan of a running sprint; the pointer does not move.

    By default, the phases are inserted directly after the current work and any phases
    injected there earlier. --json also prints the `addresses` of the new phases. FILE
    contains a list of phases, as in a plan: `phases: [{id: fix, prompt: Fix it}]`. A file
    or workflow is injected completely or not at all.

    Examples: sprintlog phase inject --prompt 'Name the user in the log'

    sprintlog phase inject --id hotfix --prompt-file fix.md --position before:review

    sprintlog phase inject --file fixes.yaml --position end-of-workflow

    sprintlog phase inject --workflow bugfix --prefix fix-12 --position end-of-workflow
    """
    inject("phase inject", given, InjectPhases, key="phases")
