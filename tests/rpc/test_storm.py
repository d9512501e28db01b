"""Two clients at once, in short; the long form is in `make accept`."""

from pathlib import Path

from .storm import storm


def test_two_clients_lose_and_double_nothing(sprint: Path) -> None:
    """Mixed requests, hostile lines, killed servers: each note is there once, as told."""
    said, problems = storm(sprint, requests=200, kills=2, seed=1)
    assert problems == [], said
