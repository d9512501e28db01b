"""The part of the workspace that asks about the past: what was different, who, and when.

Only whoever asks pays for what answers: no recording command imports it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .workspace_reading import WorkspaceReading

if TYPE_CHECKING:
    from .past.blame import Blame
    from .past.blame_lines import Line
    from .past.differences import Difference
    from .past.timeline import Step


class WorkspacePast(WorkspaceReading):
    """A log and the work tree it belongs to, for questions about what was."""

    def diff(
        self,
        old: str,
        new: str | None = None,
        *,
        sprint_id: str | None = None,
        file: str = "progress",
    ) -> "Difference":
        """Return a state file at two points, the second one as it is now.

        A point is any of `as_of.FORMS`, or `SPRINT@POINT`; without a sprint it is one of
        the only unfinished one.
        """
        from .past.differences import difference

        return difference(self, old, new, sprint_id=sprint_id, file=file)

    def blame(self, sprint_id: str, *fields: str, at: str | None = None) -> list["Blame"]:
        """Return who set each of some fields of a sprint's PROGRESS.yaml, and why.

        Raise `InvalidInputError` for what names no field, `NotFoundError` for a field that
        was never there.
        """
        from .past.blame import blame

        return list(blame(self, sprint_id, fields, at=at))

    def blame_best(
        self, sprint_id: str, *fields: str, at: str | None = None
    ) -> list["Blame"]:
        """Do the same for what is known of a sprint's best iteration."""
        from .past.blame_files import blame_best

        return list(blame_best(self, sprint_id, fields, at=at))

    def blame_journal(self, *fields: str, at: str | None = None) -> list["Blame"]:
        """Do the same for progress.json."""
        from .past.blame_files import blame_journal

        return list(blame_journal(self, fields, at=at))

    def blame_lines(self, sprint_id: str, *, at: str | None = None) -> list["Line"]:
        """Return every line of a sprint's PROGRESS.yaml with the event that set it."""
        from .past.blame_lines import blame_lines

        return list(blame_lines(self, self.sprint(sprint_id, at=at)))

    def replay(
        self, sprint_id: str, *, since: str | None = None, until: str | None = None
    ) -> Iterator["Step"]:
        """Yield a sprint's events with what each changed, after one point until another."""
        from .past.timeline import replay

        return replay(self, sprint_id, since=since, until=until)
