"""`sprintlog journal …`: the journal itself, its figures, and where it comes from."""

from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal import queries
from sprintlog.engine.journal.facts import PLACE
from sprintlog.engine.journal.rules import LEGACY, open_journal, take_text
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.projections.sql.searching import KINDS, LEARNING
from sprintlog.projections.workspace import Workspace

from ..output import print_json, print_text, table, warn
from ..placing import journal_place
from ..recording import Options, act_on_journal, answer_and_refresh
from ..wiring import here, open_workspace, with_envelope, with_json, with_point


@click.group("journal")
def command() -> None:
    """Begin the journal of what was tried and learned, and look at its figures."""


@command.command("open", epilog="Example: sprintlog journal open --project-name my-app")
@click.option("--project-name", default="", metavar="NAME", help="The project it is about.")
@click.option(
    "--place",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where its file is: DIR/progress.json or DIR/journal.json. "
    "[SPRINTLOG_JOURNAL; .ralph/progress.json]",
)
@with_envelope
def open_(project_name: str, place: Path | None, **given: Any) -> None:
    """Begin the journal; the first entry, learning or pattern does it as well.

    One that is open gets another place for its file; the file of before stays as it is.
    """
    options = Options(given)
    with open_workspace() as workspace:
        if place is not None:
            workspace.journal_place = journal_place(workspace.location, here() / place)
        wish = {"project_name": options.masked({"_": project_name})["_"]}
        if place is not None:
            wish |= {
                "place": workspace.journal_place or "",
                "worktree": workspace.location.worktree,
            }
        outcome = act_on_journal(
            workspace,
            "journal open",
            lambda journal, at: open_journal(journal, at=at, **wish),
            options,
            wish,
        )
        answer_and_refresh(workspace, outcome, as_json=options.as_json)


@command.command(epilog="Example: sprintlog journal status --prd auth-login --json")
@click.option(
    "--prd", metavar="PRD", help="How often this PRD was tried, and how it ended."
)
@with_point
@with_json
def status(prd: str | None, at: str | None, as_json: bool) -> None:
    """Count what the journal holds; say the next ids and what failures have in common."""
    with open_workspace() as workspace:
        document = workspace.document(at=at)
        journal = workspace.journals.at_version(JOURNAL, document.version)
    last = queries.last_entry(document, prd) if prd is not None else None
    figures: dict[str, Any] = {
        "version": document.version,
        "schema": document.schema,
        "project_name": document.project_name,
        "entries": len(document.entries),
        "learnings": len(document.learnings),
        "learnings_valid": sum(x.still_valid for x in document.learnings),
        "patterns": len(document.patterns),
        "blockers": len(queries.blockers(document)),
        "failure_patterns": queries.failure_patterns(document),
        "attempts": journal.attempts
        if prd is None
        else {prd: queries.attempts(document, prd)},
        "next_learning_id": journal.next_learning_id,
        "next_pattern_id": journal.next_pattern_id,
    }
    if as_json:
        print_json({**figures, "last_entry": last} if prd is not None else figures)
        return
    for name, value in figures.items():
        said = value
        if value is None:
            said = "none left"
        elif isinstance(value, dict):
            said = ", ".join(f"{key} {count}" for key, count in value.items()) or "none"
        print_text(f"{name.replace('_', ' ')}: {said}")
    if prd is not None:
        print_text(f"last entry: {f'{last.id} {last.status}' if last else 'none'}")


@command.command(epilog="Example: sprintlog journal search callback slash --kind learning")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(KINDS), help="Only of this kind.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, metavar="N", help="At most N. [20]"
)
@with_json
def search(words: tuple[str, ...], kind: str | None, limit: int, as_json: bool) -> None:
    """Find what was learned, noticed or summed up by all of these words.

    What fits best comes first. The index is a cache, made from the log when it is needed.
    """
    from sprintlog.projections.sql.searching import search as search_in

    with open_workspace() as workspace:
        found = search_in(workspace, " ".join(words), kind=kind, limit=limit)
        learnings = workspace.journal().learnings
    if as_json:
        print_json(
            [
                {**hit._asdict(), "still_valid": learnings.get(hit.id)}
                if hit.kind == LEARNING
                else hit._asdict()
                for hit in found
            ]
        )
        return
    rows = [
        (
            hit.kind,
            f"{hit.id} {hit.number}" if hit.number else hit.id,
            hit.title.partition("\n")[0]
            if learnings.get(hit.id, True)
            else f"(retired) {hit.title}",
        )
        for hit in found
    ]
    print_text(*(table(rows) if rows else ["nothing found"]))


@command.command(epilog="Example: sprintlog journal migrate")
@with_envelope
def migrate(**given: Any) -> None:
    """Take over .ralph/progress.txt: all of its text becomes the first learning.

    The file is kept beside it as progress.txt.backup. Where there is a progress.json or a
    journal already nothing happens; where there is no text either, an empty journal begins.
    """
    options = Options(given).with_values(masks=False)
    with open_workspace() as workspace:
        source = workspace.location.root / Path(PLACE).with_name("progress.txt")
        backup = source.with_name(f"{source.name}.backup")
        text = _text_of(source)
        if not workspace.journal().exists and workspace.files.look(PLACE).is_foreign:
            warn(f"{PLACE} is there already; `sprintlog import journal FILE` takes it in")
            return
        is_open = workspace.journal().exists
        is_taken = text is not None and (not is_open or _came_from(workspace, text))
        if is_taken and backup.exists():
            raise RefusedError(
                f"{backup}: is there already, and would be replaced",
                hint="move it away, then repeat this",
                file=str(backup),
            )
        outcome = act_on_journal(
            workspace,
            "journal migrate",
            lambda journal, at: take_text(journal, text=text or "", at=at),
            options,
            {"text": text},
        )
        answer_and_refresh(workspace, outcome, as_json=options.as_json)
        if text is None:
            return
        if outcome.events or _came_from(workspace, text):
            source.rename(backup)
        else:
            warn(f"{source} is left as it is: the journal began without it")


def _text_of(source: Path) -> str | None:
    from ..intake.files import read_text

    return read_text(str(source)) if source.exists() else None


def _came_from(workspace: Workspace, text: str) -> bool:
    """Tell whether the journal began with this text, by a migration that was killed."""
    legacy = workspace.document().learning(LEGACY)
    return legacy is not None and legacy.content == text
