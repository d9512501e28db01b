"""`report --html`, `--svg`, `--markdown`: a sprint as a page, a drawing, a summary."""

from pathlib import Path

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.projections.workspace import Workspace

from ..context import ReadOptions
from ..output import print_bytes, print_json, print_text


def write_page(
    workspace: Workspace, reading: ReadOptions, file: Path, *, opens: bool
) -> None:
    """Write the page of a sprint; open it in the person's browser where that is wanted."""
    # Imported here: only who wants a page needs what draws it.
    from sprintlog.engine.service.work_tree.own_paths import know_for_people
    from sprintlog.projections.page.document import page

    if file.is_dir():
        raise InvalidInputError(f"{file} is a folder; name a file", field="--html")
    name = workspace.choose(reading.sprint_id)
    content = page(workspace, name, at=reading.at).encode()
    try:
        replace_file(file.parent.resolve() / file.name, content, mode=0o644)
    except OSError as error:
        raise SprintlogError(f"{file}: {error.strerror}") from error
    know_for_people(workspace, file)
    if reading.as_json:
        print_json({"file": str(file), "bytes": len(content)})
    else:
        print_text(f"wrote {file} ({len(content):,} bytes)")
    if opens:
        _open(file)


def print_drawing(workspace: Workspace, reading: ReadOptions, word: str) -> None:
    """Print one drawing of a sprint as a file of SVG."""
    from sprintlog.projections.page.document import facts_of
    from sprintlog.projections.page.pictures import DRAWINGS

    name = workspace.choose(reading.sprint_id)
    print_bytes(DRAWINGS[word](facts_of(workspace, name, at=reading.at)).encode())


def print_job_summary(workspace: Workspace, reading: ReadOptions, report: str) -> None:
    """Print a report with its timeline, as long as the summary of a job may be."""
    from sprintlog.projections.page.document import facts_of
    from sprintlog.projections.page.job_summary import job_summary
    from sprintlog.projections.page.sections.timeline import laid_out

    name = workspace.choose(reading.sprint_id)
    found = laid_out(facts_of(workspace, name, at=reading.at))
    print_bytes(job_summary(report, found).encode())


def _open(file: Path) -> None:
    """Open a file in the browser; where there is none, say so and go on."""
    import webbrowser

    from ..output import note

    if not webbrowser.open(file.resolve().as_uri()):
        note(f"no browser was found: open {file} yourself")
