"""best-iteration.yaml: what the tracker of a loop knows, as YAML text."""

from sprintlog.engine.service.streams.judged import Judged

from ..iterations.tracker import tracker_data
from .yaml.writer import dump


def render(judged: Judged) -> bytes:
    """Return the tracker's file."""
    return dump(tracker_data(judged)).encode()
