"""The state file of the journal: progress.json."""

from typing import Any, Protocol

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.journal.document import Document
from sprintlog.engine.journal.intake.strangers import ELSEWHERE, stranger
from sprintlog.engine.journal.state.journal import Journal
from sprintlog.engine.sprint.events import EditObserved

from . import progress_json
from .files import StateFiles
from .location import Location
from .reading import Reader
from .refreshing import Refresher
from .state_places import wrong_journal


class Acting(Protocol):
    """What of a workspace is needed here."""

    @property
    def location(self) -> Location:
        """Return where the log and the work tree are."""
        ...

    @property
    def files(self) -> StateFiles:
        """Return the state files."""
        ...

    @property
    def journals(self) -> Reader[Journal]:
        """Return the reader of the journal's ids and counts."""
        ...

    @property
    def documents(self) -> Reader[Document]:
        """Return the reader of the journal's texts."""
        ...

    def observe_journal(self, fact: EditObserved, *, key: str) -> None:
        """Record an edit of the journal's file, once under this key."""
        ...


class JournalFile:
    """progress.json; its texts are read from the log when it is written."""

    def __init__(self, workspace: Acting) -> None:
        self.location = workspace.location
        self.files = workspace.files
        self.reader = workspace.journals
        self._workspace = workspace

    def path(self, state: Journal) -> str | None:
        """Return where this work tree has the file; None when it has none."""
        is_ours = state.exists and state.worktree == self.location.worktree
        if not is_ours:
            return None
        if problem := wrong_journal(state.place):
            raise RefusedError(f"{state.place}: {problem}", file=state.place, field="place")
        return state.place

    def render(self, state: Journal) -> bytes:
        """Return the file's bytes."""
        documents = self._workspace.documents
        document = documents.current(state.id)
        if document.version != state.version:
            document = documents.at_version(state.id, state.version)
        return progress_json.render(document)

    def document(self, state: Journal) -> dict[str, Any]:
        """Return what the file holds, as data."""
        data: dict[str, Any] = progress_json.load(self.render(state), file=state.place)
        return data

    def load(self, content: bytes, *, file: str) -> object:
        """Return somebody else's bytes as data; raise `InvalidInputError`."""
        return progress_json.load(content, file=file)

    def stands_as_imported(self, state: Journal, since: int | None) -> bool:
        """Tell that an imported journal is written in our layout at once."""
        return False

    def observe(self, name: str, fact: EditObserved, *, key: str) -> None:
        """Record an edit that somebody else made, once under this key."""
        self._workspace.observe_journal(fact, key=key)


def journal_file(workspace: Acting) -> Refresher[Journal]:
    """Return what brings the journal's file up to date."""
    return Refresher(JournalFile(workspace))


def check_no_stranger(files: StateFiles, place: str) -> None:
    """Refuse to begin a journal where another tool has a file: it says what that is."""
    seen = files.look(place)
    if not seen.is_foreign:
        return
    try:
        found = stranger(progress_json.load(seen.content or b"", file=place))
    except InvalidInputError:
        found = "no JSON"
    if found is None:
        hint = f"`sprintlog import journal {place}` takes it in, then repeat this"
        raise RefusedError(
            f"{place} is there already, a journal of another tool", hint=hint, file=place
        )
    raise RefusedError(f"{place} is there already: {found}", hint=ELSEWHERE, file=place)
