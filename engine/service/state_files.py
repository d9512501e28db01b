"""The port to state files: what is written after a commit, and what others did to it."""

import msgspec

from ..sprint.state.sprint import Sprint


class Refreshed(msgspec.Struct, frozen=True):
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


class StateFiles:
    """What is written for others to read. Here it is nothing, so nobody changes it either.

    What others changed in the files of a work tree they let be recorded.
    """

    def refresh(self, stream: str) -> Refreshed:
        """Bring a stream's state file up to date; keep what others made of it."""
        return Refreshed(None, "elsewhere")

    def refresh_loop(self, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
        """Do the same with the files of a sprint's loop; add what was found there."""
        return refreshed

    def compare(self, sprint: Sprint) -> Refreshed:
        """Compare a sprint's state file with its state; write nothing."""
        return Refreshed(None, "elsewhere")

    def foreign(self, path: str) -> bytes | None:
        """Return what stands at a path where somebody else wrote it, else None."""
        return None

    def hand_over(self, path: str, *, of: str) -> None:
        """Keep a finished sprint's last file in the log's folder; its place gets free."""
