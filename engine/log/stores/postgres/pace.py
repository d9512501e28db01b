"""Whether others append beside this writer, so that the disk is waited for together."""

ALONE_UNTIL_SURE = 16
"""So many appends between which nobody else wrote: then this writer is alone again."""


class Pace:
    """What a writer learned of others from where its appends came."""

    def __init__(self) -> None:
        self.is_shared = False
        """Whether the log's lock is given back before the disk is waited for.

        That is a second transaction in the server, which helps only whoever waits.
        """
        self._alone = 0

    def found(self, *, is_alone: bool) -> None:
        """Learn whether anybody had appended since the last append of this writer."""
        self._alone = self._alone + 1 if is_alone else 0
        if not is_alone:
            self.is_shared = True
        elif self._alone >= ALONE_UNTIL_SURE:
            self.is_shared = False
