"""What a page tells of a sprint's past; carried on from one page of it to the next."""

from collections.abc import Iterable

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.checkpoints import was_erased_since
from sprintlog.engine.sprint.state.sprint import Sprint

from ..history.blame import event_at
from ..text.phrases import milliseconds
from ..workspace import Workspace
from .changed_files import FilesOfIterations
from .course import EventStory
from .file_history import FileHistory, FollowedFile


class SprintPast:
    """The events of a sprint up to a version, as far as its page tells them.

    Each event is read once. What is kept of them does not grow with their number, but for
    eight bytes each: when it was.
    """

    def __init__(self) -> None:
        self.story = EventStory()
        self.works: set[str | None] = set()
        """What the events belong to; sessions name the same."""
        self.changed = FilesOfIterations()
        self._file = FollowedFile()
        self._last: RecordedEvent | None = None
        self._position = 0
        self._at = 0
        self._setters: dict[int, str] = {}

    def follow(self, workspace: Workspace, sprint: Sprint) -> None:
        """Go on to the version of a sprint; where that is another past, begin anew."""
        if not self._is_of(workspace, sprint):
            self.__init__()  # type: ignore[misc]
        log, stream = workspace.log, sprint_stream(sprint.id)
        self._position = log.last_position()
        after = self._last.version if self._last is not None else 0
        for recorded in log.read_stream(stream, after=after, until=sprint.version):
            self.works.add(recorded.correlation_id)
            at = milliseconds(recorded.at)
            self._at = self._at if at is None else at
            if recorded.payload is not None:
                self.story.take(recorded.version, self._at, CODEC.decode(recorded))
            self._last = recorded

    def file(self, workspace: Workspace, sprint: Sprint) -> FileHistory:
        """Return the state file's history up to the version of a sprint."""
        return self._file.follow(workspace, sprint)

    def setters(
        self, workspace: Workspace, sprint: Sprint, versions: Iterable[int]
    ) -> dict[int, str]:
        """Return for some versions which event each is, and whose."""
        known = self._setters
        self._setters = {}
        for version in {*versions} - {0}:
            if (said := known.get(version)) is None:
                event = event_at(workspace, sprint.id, version)
                said = f"{event.type} by {event.actor}"
            self._setters[version] = said
        return self._setters

    def _is_of(self, workspace: Workspace, sprint: Sprint) -> bool:
        """Tell whether what is known is of this sprint, and nothing of it was erased."""
        last = self._last
        if last is None or last.version > sprint.version:
            return False
        there = event_at(workspace, sprint.id, last.version)
        return there.hash == last.hash and not was_erased_since(
            workspace.log, self._position
        )
