"""The port to state files: what is written after a commit, and what others did to it."""

from typing import NamedTuple, Protocol

from ..sprint.state.sprint import Sprint


class Refreshed(NamedTuple):
    """What happened to a state file."""

    path: str | None
    """None when there is no state file in this work tree."""
    state: str
    """`same`, `written`, `missing`, `stale`, `edited`, `imported` or `elsewhere`."""
    digest: str = ""
    """sha256 of our bytes, in hexadecimal."""
    kept: str | None = None
    """Name of the copy of somebody else's bytes."""
    problem: str | None = None
    """A sentence for the person at the terminal."""


class StateFiles(Protocol):
    """The state files of a work tree. What others changed in one they let be recorded."""

    def refresh(self, stream: str) -> Refreshed:
        """Bring a stream's state file up to date; keep what others made of it."""

    def refresh_loop(self, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
        """Do the same with the files of a sprint's loop; add what was found there."""

    def compare(self, sprint: Sprint) -> Refreshed:
        """Compare a sprint's state file with its state; write nothing."""

    def foreign(self, path: str) -> bytes | None:
        """Return what stands at a path where somebody else wrote it, else None."""

    def hand_over(self, path: str, *, of: str) -> None:
        """Keep a finished sprint's last file elsewhere; its place gets free."""


class NoStateFiles:
    """Nothing is written for others to read, and so nothing of it can be changed."""

    def refresh(self, stream: str) -> Refreshed:
        """Write nothing."""
        return Refreshed(None, "elsewhere")

    def refresh_loop(self, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
        """Add nothing."""
        return refreshed

    def compare(self, sprint: Sprint) -> Refreshed:
        """Compare nothing."""
        return Refreshed(None, "elsewhere")

    def foreign(self, path: str) -> bytes | None:
        """Return nothing."""
        return None

    def hand_over(self, path: str, *, of: str) -> None:
        """Have nothing to keep."""
