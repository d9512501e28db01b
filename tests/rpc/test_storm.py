"""Two clients at once, briefly; the long form is in `make accept`."""

from pathlib import Path

from .sockets import SharedServer
from .storm import storm


def test_two_clients_lose_and_double_nothing(sprint: Path) -> None:
    """Mixed requests, hostile lines, killed servers: each note exists once, as answered."""
    said, problems = storm(sprint, requests=200, kills=2, seed=1)
    assert problems == [], said


def test_clients_of_one_server_lose_and_double_nothing(sprint: Path) -> None:
    """The same with one server for all clients, and commits for several of them."""
    server = SharedServer(sprint)
    said, problems = storm(
        sprint, requests=400, kills=4, seed=1, clients_count=4, connect=server.connect
    )
    server.end()
    assert problems == [], said
