"""The tutorial's night is the stored one: a log written by real commands."""

import json
import re
from pathlib import Path
from typing import Any

from sprintlog.projections import Workspace

from ..forked import serving
from ..sessions import ROOT, Session, answers, begin, session_of

PAGE = ROOT / "docs" / "tutorial" / "a-night-that-failed.md"
STREAM = ROOT / "fixtures" / "streams" / "failed-night-v1.jsonl"
EXPECTED = ROOT / "fixtures" / "expected" / "failed-night-v1.PROGRESS.yaml"


def night(folder: Path) -> list[dict[str, Any]]:
    """Return the events of the night's script, in the format of the stored streams.

    They are older than the id of the work tree, which differs in each folder.
    """
    whole = session_of(PAGE)
    first = Session(whole.files, whole.commands[:1])
    with serving() as commands:
        (given,) = answers(begin(first, folder, commands=commands))
    assert given == (0, "")
    with Workspace.open(folder) as workspace:
        return [
            {
                "version": event.version,
                "at": event.at,
                "type": event.type,
                "schema_version": event.schema_version,
                "payload": re.sub(
                    r',"work_tree":"[^"]*"', "", (event.payload or b"").decode()
                ),
            }
            for event in workspace.events("shop")
        ]


def test_the_night_is_the_stored_one(tmp_path: Path) -> None:
    """The page's script records the stored stream, and leaves the stored state file."""
    stored = [json.loads(line) for line in STREAM.read_text().splitlines()]
    assert night(tmp_path) == stored
    assert (tmp_path / "PROGRESS.yaml").read_bytes() == EXPECTED.read_bytes()
