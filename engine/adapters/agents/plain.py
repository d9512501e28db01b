"""Any command that answers in words: all that it printed is what it says."""

from .items import AgentEnded, Items


def read(content: bytes) -> Items:
    """Return what the output of a run says."""
    return (AgentEnded(content.decode("utf-8", "replace")),)
