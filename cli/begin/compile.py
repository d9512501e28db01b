"""The `sprintlog compile` command: turn SPRINT.yaml and its workflows into a plan."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sprintlog.engine.sprint.plan.recompile import TakePlan
from sprintlog.engine.sprint.state.tree import CHILDREN
from sprintlog.projections.views.log import CompiledAnswer, SourceFile

from .. import typed
from ..context import with_envelope
from ..output import counted, print_answer, print_problems
from ..places import place_in, source_of
from ..record import Options, recording

if TYPE_CHECKING:
    from ..intake.definition import CompiledFiles


@typed.command("compile")
@typed.path_argument("definition", default=Path(), metavar="[SPRINT.yaml|DIR]")
@typed.flag("--check", help="Compile without recording.")
@typed.flag("--strict", help="Reject unknown keys.")
@typed.folder_option(
    "--workflows", help="The folder of workflows. [the nearest .claude/workflows above]"
)
@typed.option(
    "--id",
    "new_id",
    metavar="ID",
    help="The sprint's id. [sprint-id in SPRINT.yaml, or else its folder's name]",
)
@typed.folder_option(
    "--sprint-dir", help="The folder for PROGRESS.yaml. [the folder of SPRINT.yaml]"
)
@with_envelope
def command(
    definition: Path,
    check: bool,
    strict: bool,
    workflows: Path | None,
    new_id: str | None,
    sprint_dir: Path | None,
    **given: Any,
) -> None:
    """Compile a SPRINT.yaml file and the workflows it references into a sprint.

    All problems in all files are reported together, and nothing is recorded if there are
    any. Compiling again replaces the plan of a sprint that has not started; a started
    sprint accepts additions only.

    Examples: sprintlog compile .claude/sprints/2026-01-15_auth

    sprintlog compile --check
    """
    from ..intake.definition import as_fields, compile_files

    options = Options(given)
    compiled = compile_files(
        definition, workflows=workflows, sprint_id=new_id, is_strict=strict
    )
    warnings = [as_fields(problem) for problem in compiled.warnings]
    if not (check and options.as_json):
        print_problems(warnings)
    if check:
        files = [
            SourceFile(str(x.file), sha256(x.content).hexdigest()) for x in compiled.read
        ]
        answer = CompiledAnswer(compiled.sprint_id, files, warnings, compiled.plan)
        line = f"{compiled.sprint_id}: compiles, {_size(compiled)}"
        print_answer(answer, [line], as_json=options.as_json)
        return
    with recording("compile", options) as run:
        location = run.workspace.location
        place = place_in(location, sprint_dir or compiled.file.parent)
        sources = tuple(source_of(location, *read) for read in compiled.read)
        command = TakePlan(compiled.plan, place, sources, compiled.until)
        arguments = {"id": compiled.sprint_id, "plan": compiled.plan}
        arguments |= {"until": compiled.until} if compiled.until else {}
        run.answer(run.handle_with(command, arguments, sprint_id=compiled.sprint_id))


def _size(compiled: "CompiledFiles") -> str:
    """Return a description of the plan's size."""
    level, counts = [compiled.plan], []
    for key, noun in zip(CHILDREN, ("phase", "step", "sub-phase"), strict=True):
        level = [child for node in level for child in node.get(key) or ()]
        counts.append(counted(len(level), noun))
    return f"{', '.join(counts)} from {counted(len(compiled.read), 'file')}"
