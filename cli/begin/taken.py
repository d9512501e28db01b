"""What was taken in of another loop's files: counted, told, and the rest of it kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sprintlog.projections.health.not_understood import keep_lines
from sprintlog.projections.views.log import LoopTaken

from ..intake.others.found import Unread
from ..output import counted, print_answer, warn
from ..record import UNNAMED, Options, Recording

PLURALS = {"story": "stories", "passed": "passed", "entry": "entries"}


def options_of(given: Mapping[str, object], file: Path) -> Options:
    """Return the options of an import, whose events are caused by the file."""
    options = Options(given)
    # The folder that one stands in is given as a point, which has no name.
    actor = f"import:{file.name or file.absolute().name}"[:128]
    return options.with_values(actor=actor) if options.actor in UNNAMED else options


def tell(
    run: Recording,
    file: Path,
    kind: str,
    sprint_id: str,
    *,
    found: dict[str, int],
    recorded: int,
    unread: Sequence[Unread],
) -> None:
    """Say what a source holds, and keep what of it was not understood."""
    kept = None
    if unread:
        lines = [line._asdict() for line in unread]
        kept = str(keep_lines(run.workspace, file.name, lines))
    answer = LoopTaken(
        file=str(file),
        kind=kind,
        sprint=sprint_id,
        found=found,
        recorded=recorded,
        unread=len(unread),
        kept=kept,
    )
    counts = [_counted(number, noun) for noun, number in found.items()]
    if unread:
        counts.append(f"{counted(len(unread), 'line')} not understood → {kept}")
    new = f"{counted(recorded, 'event')} recorded" if recorded else "nothing new"
    said = f"{file}: {kind}, {', '.join(counts)}; {sprint_id}: {new}"
    print_answer(answer, [said], as_json=run.options.as_json)


def warn_of_cut(file: Path) -> None:
    """Warn that a shallow clone lacks the older versions of a file."""
    warn(f"the repository was cloned in part: older versions of {file} are not there")


def _counted(number: int, noun: str) -> str:
    if number != 1 and noun in PLURALS:
        return f"{number} {PLURALS[noun]}"
    return counted(number, noun)
