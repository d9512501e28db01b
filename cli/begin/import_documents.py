"""Documents of other tools become events, one version after the other."""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.document.contradictions import contradictions
from sprintlog.engine.sprint.events import Place, SprintImported
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.views.log import TakenIn
from sprintlog.projections.workspace import Outcome, Workspace

from ..output import counted, print_json, print_text, visible, warn
from ..places import PROGRESS, place_in, place_of
from ..record import UNNAMED, Options, Recording, refresh

if TYPE_CHECKING:
    from ..intake.versions import Version

TOLD_MAX = 20
"""More contradictions than this of several versions are only counted on a terminal."""


class Importing:
    """An import on its way."""

    def __init__(
        self, workspace: Workspace, options: Options, sprint_dir: Path | None
    ) -> None:
        self._workspace = workspace
        self._options = options
        self._sprint_dir = sprint_dir
        self._sprints: dict[str, Version] = {}
        """The newest version of each sprint."""
        self._problems: list[list[str]] = []
        """What contradicts the rules in each version."""
        self._known: dict[str, set[str]] = {}

    def take(self, version: "Version") -> None:
        """Record a version and answer it."""
        self._sprints[version.sprint_id] = version
        if version.committed_at is not None and version.name in self._sources(version):
            self._answer(version, self._workspace.sprint(version.sprint_id), None, [])
            return
        document = version.document
        problems = [*version.remarks, *contradictions(document)]
        self._problems.append(problems)
        outcome = self._record(version, document)
        self._answer(version, outcome.sprint, outcome, problems)

    def finish(self) -> None:
        """Say what contradicts the rules, and bring the files up to date."""
        if not self._options.as_json:
            for line in summary(self._problems):
                print_text(f"  {line}")
        for sprint_id, version in self._sprints.items():
            self._know_file(version)
            # Only now: in between, the file at hand is none of the older versions.
            refresh(self._workspace, sprint_id)

    def _sources(self, version: "Version") -> set[str]:
        """Return which committed versions were taken in before."""
        if version.sprint_id not in self._known:
            events = self._workspace.reader.events(version.sprint_id, SprintImported)
            self._known[version.sprint_id] = {event.source for event in events}
        return self._known[version.sprint_id]

    def _record(self, version: "Version", document: dict[str, Any]) -> Outcome:
        options, sprint_id = self._options, version.sprint_id
        place = self._place(version)
        written = self._workspace.sprint(sprint_id).plan.place
        if self._sprint_dir is not None and written not in (None, place):
            raise RefusedError(
                f"sprint {sprint_id} writes its file at {written.path if written else ''}; "
                "an import does not move it",
                hint="leave --sprint-dir out",
                sprint=sprint_id,
            )
        options = options.with_values(
            at=version.at or options.at,
            actor=f"import:{version.file.name}"[:128]
            if options.actor in UNNAMED
            else options.actor,
        )
        command = ImportDocument(document, version.name[-500:], place, version.committed_at)
        run = Recording("import progress", options, self._workspace)
        return run.act(command, {"document": document}, sprint_id=sprint_id)

    def _answer(
        self,
        version: "Version",
        sprint: Sprint,
        outcome: Outcome | None,
        problems: list[str],
    ) -> None:
        last = outcome.events[-1] if outcome and outcome.events else None
        position = last.position if last else self._workspace.log.head().position
        if self._options.as_json:
            of_git = version.committed_at is not None
            print_json(
                TakenIn(
                    file=version.name,
                    stream=sprint_stream(version.sprint_id),
                    version=sprint.version,
                    position=position,
                    unchanged=last is None,
                    problems=problems,
                    at=version.at if of_git else UNSET,
                    committed_at=version.committed_at or UNSET,
                    id=last.id if last else UNSET,
                    type=last.type if last else UNSET,
                    hash=last.hash.hex() if last else UNSET,
                )
            )
            return
        said = "no difference" if last is None else f"version {sprint.version}"
        if outcome is None:
            said = "recorded before"
        count = f", {counted(len(problems), 'contradiction')}" if problems else ""
        where = f"[position {position}]"
        print_text(f"{version.name}: {version.sprint_id} {said}{count}  {where}")

    def _know_file(self, version: "Version") -> None:
        """Take the file at hand as the one that was imported, not as somebody's edit."""
        workspace, content = self._workspace, version.content
        sprint = workspace.sprint(version.sprint_id)
        place = sprint.plan.place
        if content is None or place is None:
            return
        if place_of(workspace.location, version.file) != place:
            return
        self._check_checksum(place.path, content)
        kept = SprintFile(workspace).know_imported(sprint, place.path, content)
        if kept:
            folder = workspace.location.folder / "edits"
            warn(
                f"{place.path} will be written in our layout from the first event of your "
                f"own on; the original is kept as {folder / kept}"
            )

    def _check_checksum(self, path: str, content: bytes) -> None:
        """Tell where the checksum beside the file is of another one: somebody wrote it."""
        said, is_so = self._workspace.files.checksum_says(path), sha256(content).hexdigest()
        if said not in (None, is_so):
            warn(
                f"{path}.checksum is of other bytes: it says {visible(str(said)[:64])}, "
                f"the file has {is_so}; the first event of your own replaces both"
            )

    def _place(self, version: "Version") -> Place | None:
        if self._sprint_dir is not None:
            return place_in(self._workspace.location, self._sprint_dir)
        # A file that was taken away is not put back.
        if version.file.name == PROGRESS and version.file.is_file():
            return place_of(self._workspace.location, version.file)
        return None


def summary(problems: list[list[str]]) -> list[str]:
    """Return what contradicts the rules in some versions, once for all of them.

    What is said of one place is told as the newest version with it has it.
    """
    newest: dict[str, str] = {}
    for found in problems:
        newest |= {_place_of(problem): problem for problem in found}
    if len(problems) == 1:
        return problems[0]
    versions = Counter(
        place for found in problems for place in {_place_of(problem) for problem in found}
    )
    lines = [
        f"{newest[place]}  ({number} of {counted(len(problems), 'version')})"
        for place, number in versions.most_common(TOLD_MAX)
    ]
    if (more := len(newest) - len(lines)) > 0:
        lines.append(f"{more} more; --json tells all of them")
    return lines


def _place_of(problem: str) -> str:
    """Return what a sentence is about, and what about it: no figures or words of it."""
    return " ".join(problem.split(" ", 2)[:2])
