"""Projections of the log, and the files that they write for people and tools."""

from .workspace import Outcome, Workspace

__all__ = ["Outcome", "Workspace"]
