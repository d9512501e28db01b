"""The state file of the journal: progress.json."""

from typing import Any

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.state.journal import Journal
from sprintlog.engine.service.place.state_places import wrong_journal

from . import progress_json
from .files import FilesService
from .refresh import ProjectedFile


class JournalFile(ProjectedFile[Journal]):
    """progress.json; its texts are read from the log when it is written."""

    def __init__(self, workspace: FilesService) -> None:
        super().__init__(workspace, workspace.journals)

    def path(self, state: Journal) -> str | None:
        """Return where this work tree has the file; None when it has none."""
        is_ours = state.exists and state.worktree == self.workspace.location.worktree
        if not is_ours:
            return None
        if problem := wrong_journal(state.place):
            raise RefusedError(f"{state.place}: {problem}", file=state.place, field="place")
        return state.place

    def render(self, state: Journal) -> bytes:
        """Return the file's bytes."""
        documents = self.workspace.documents
        document = documents.current(state.id)
        if document.version != state.version:
            document = documents.at_version(state.id, state.version)
        return progress_json.render(document)

    def load(self, content: bytes, *, file: str) -> Any:
        """Return somebody else's bytes as data; raise `InvalidInputError`."""
        return progress_json.load(content, file=file)
