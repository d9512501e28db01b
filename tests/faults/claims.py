"""The events that commands claimed to have recorded, and whether they exist."""

import json
import re
from typing import Any

from .runner import Done

_POSITION = re.compile(r"\[position (\d+)")


def acknowledged(done: Done) -> list[tuple[int, str | None]]:
    """Return position and hash of every event that a command acknowledged."""
    found: list[tuple[int, str | None]] = []
    for line in done.out.splitlines():
        if line.startswith(("{", "[")):
            try:
                answers: Any = json.loads(line)
            except ValueError:
                continue
            for answer in answers if isinstance(answers, list) else [answers]:
                if "hash" in answer:
                    found.append((answer["position"], answer["hash"]))
        elif position := _POSITION.search(line):
            found.append((int(position[1]), None))
    return found


def missing(claims: list[tuple[int, str | None]], events: list[Any]) -> list[int]:
    """Return the acknowledged positions at which the event is missing."""
    hashes = {event["position"]: event["hash"] for event in events}
    return [
        position
        for position, known in claims
        if hashes.get(position) is None or known not in (None, hashes[position])
    ]
