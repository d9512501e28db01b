"""PROGRESS.yaml: the settled document of a sprint as YAML text, and nothing else."""

from sprintlog.engine.sprint.state.sprint import Sprint

from .yaml.writer import dump


def render(sprint: Sprint) -> bytes:
    """Return the file's bytes: the same state gives the same bytes everywhere."""
    return dump(sprint.document).encode()
