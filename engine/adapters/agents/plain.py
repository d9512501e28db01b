"""Any command that answers in words: all that it printed is what it says."""

from .items import Ended, Items


def read(content: bytes) -> Items:
    """Return what the output of a run says."""
    return (Ended(content.decode("utf-8", "replace")),)
