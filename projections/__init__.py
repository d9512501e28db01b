"""Readings of the log, and the files they write for others to read."""

from .workspace import Outcome, Workspace

__all__ = ["Outcome", "Workspace"]
