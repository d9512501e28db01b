"""The composition root of a workspace: the service and its state files.

The library re-exports the class: `from sprintlog import Workspace`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from sprintlog.engine.command import digest_of
from sprintlog.engine.log.port import Log
from sprintlog.engine.log.stores import wall_clock as wall_clock
from sprintlog.engine.service import workspace as service
from sprintlog.engine.service.place.location import Location
from sprintlog.engine.service.port import Decide as Decide
from sprintlog.engine.service.port import DecideOnJournal as DecideOnJournal
from sprintlog.engine.service.port import Envelope as Envelope
from sprintlog.engine.service.port import Handled as Handled
from sprintlog.engine.service.port import Outcome as Outcome
from sprintlog.engine.service.port import Refreshed, StateFiles
from sprintlog.engine.sprint.state.sprint import Sprint

from .state_files.files import FilesService
from .state_files.files import WrittenFiles as Files
from .state_files.sprint_file import SprintFile

if TYPE_CHECKING:
    from sprintlog.engine.sprint.answers.items import SaidItems

    from .state_files.journal_file import JournalFile


class Workspace(service.ServiceWorkspace):
    """A log, its work tree, and the state files in the work tree."""

    def connect(self, location: Location, log: Log) -> None:
        """Switch to a log, and reload everything from it."""
        super().connect(location, log)
        self.files = Files(location, log.digests, log.locks)
        self.state_files = OwnStateFiles(self)

    @staticmethod
    def key_digest(name: str, arguments: Mapping[str, Any]) -> bytes:
        """Return an action's `key_digest`, to which its idempotency key is bound."""
        return digest_of(name, arguments)

    def begin_turn(self, session: str) -> bool:
        """Start the iteration of a session's turn; return whether it started now."""
        # Imported here: an agent seldom claims the goal by a command.
        from sprintlog.engine.service.settle import begin_turn

        return begin_turn(self, session)

    def keep_learnings(
        self, sprint_id: str, said: "SaidItems", **envelope: Unpack[Envelope]
    ) -> "SaidItems | None":
        """Add an agent's learnings to the journal, if one is open.

        Return the remaining items, which must be recorded for the sprint.
        """
        # Imported here: few agents report learnings.
        from sprintlog.engine.service.learnings import keep_learnings

        return keep_learnings(self, sprint_id, said, **envelope)


class OwnStateFiles(StateFiles):
    """All state files of a workspace, as required by the service."""

    def __init__(self, workspace: FilesService) -> None:
        self._workspace = workspace

    def of_sprint(self) -> SprintFile:
        """Return the handler of sprint state files."""
        return SprintFile(self._workspace)

    def of_journal(self) -> "JournalFile":
        """Return the handler of the journal's state file."""
        # Imported here: commands about a sprint do not require it.
        from .state_files.journal_file import JournalFile

        return JournalFile(self._workspace)

    def refresh_loop(self, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
        """Refresh the files of a sprint's loop, adding the results to `refreshed`."""
        # Imported here: only measured loops have further files.
        from .state_files.loop_place import with_loop

        return with_loop(self._workspace, sprint, refreshed)

    def foreign(self, path: str) -> bytes | None:
        """Return the bytes at a path if another program wrote them, otherwise None."""
        seen = self._workspace.files.look(path)
        return seen.content if seen.is_foreign else None

    def hand_over(self, path: str, *, of: str) -> None:
        """Move a finished sprint's last file to the log's folder, which frees its path."""
        self._workspace.files.hand_over(path, of=of)
