"""best-iteration.yaml: what the tracker of a loop knows, as YAML text."""

from ..iterations.tracker import tracker_data
from ..judging import Judged
from .yaml.writer import dump


def render(judged: Judged) -> bytes:
    """Return the tracker's file."""
    return dump(tracker_data(judged)).encode()
