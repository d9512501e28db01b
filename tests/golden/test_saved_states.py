"""The saved states of the stored streams: if one changes, so does its format."""

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from sprintlog.engine.journal import state as journals
from sprintlog.engine.journal.fold import fold as fold_journal
from sprintlog.engine.journal.state import Journal
from sprintlog.engine.log.event import Versioned
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state import sprint as sprints
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint

from .test_journals import JOURNALS
from .test_streams import FIXTURES, STREAMS, lines, recorded_of

WRITTEN = FIXTURES / "expected" / "saved-states.json"


def of_sprint(events: list[Versioned]) -> bytes:
    """Return the saved state of a sprint at the end of its events."""
    back = [(version, f.to) for version, _, f in events if isinstance(f, RolledBack)]
    return sprints.pack(fold(Sprint("s"), events, effective_ranges(back, len(events))))


def of_journal(events: list[Versioned]) -> bytes:
    """Return the saved state of a journal at the end of its events."""
    return journals.pack(fold_journal(Journal(), events, None))


def saved_of(
    streams: Iterable[Path], saved: Callable[[list[Versioned]], bytes]
) -> dict[str, str]:
    """Return for each stream a digest of its saved states at each of its versions."""
    found = {}
    for stream in streams:
        stored = [recorded_of(line) for line in lines(stream)]
        events = [(event.version, event.at, CODEC.decode(event)) for event in stored]
        digest = sha256()
        for version in range(1, len(events) + 1):
            digest.update(saved(events[:version]))
        found[stream.stem] = digest.hexdigest()[:16]
    return found


def today() -> dict[str, Any]:
    """Return the formats of saved states, and those of every stored stream."""
    return {
        "engine/sprint/state/sprint.py": {
            "format": sprints.STATE_FORMAT,
            "saved": saved_of(STREAMS, of_sprint),
        },
        "engine/journal/state.py": {
            "format": journals.JOURNAL_FORMAT,
            "saved": saved_of(JOURNALS, of_journal),
        },
    }


def test_same_format_means_the_same_states() -> None:
    """Within one format, the saved states of a stored stream do not change.

    `python -m tests.golden.test_saved_states` stores the current states; this test then
    checks the current format and streams.
    """
    written = json.loads(WRITTEN.read_text())
    for module, found in today().items():
        before = written[module]
        if found["format"] == before["format"]:
            changed = [
                stream
                for stream, digest in before["saved"].items()
                if found["saved"].get(stream) != digest
            ]
            assert not changed, f"raise MEANING in {module}: it is saved otherwise"


if __name__ == "__main__":
    test_same_format_means_the_same_states()
    WRITTEN.write_text(json.dumps(today(), indent=1) + "\n")
