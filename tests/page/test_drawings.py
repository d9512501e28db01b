"""The summary of a CI job, and drawings by themselves."""

import xml.etree.ElementTree as ET
from pathlib import Path

from sprintlog.facts import Work, sprint_facts
from sprintlog.projections.page.document import (
    BYTES_MAX,
    DRAWINGS,
    MERMAID_BYTES_MAX,
    job_summary,
)
from sprintlog.projections.page.layout import place_timeline
from sprintlog.projections.page.timeline import laid_out

from .hostile import hostile_night
from .night import SPRINT, night


def test_a_job_summary_is_bounded() -> None:
    """However long its parts are, it stays within the limit of a summary, marking cuts."""
    found = place_timeline(
        [Work("a:`;#", n, n + 1, "good", ("x" * 50,)) for n in range(9_000)]
    )
    said = job_summary("## Sprint\n" + "| y |\n" * 300_000, found)
    assert len(said.encode()) <= BYTES_MAX
    assert said.endswith("The rest is omitted; run `sprintlog report` to see all of it.\n")
    short = job_summary("## Sprint\n", found)
    assert len(short) < MERMAID_BYTES_MAX + 500


def test_nothing_ends_the_diagram(tmp_path: Path) -> None:
    """Whatever a phase is named, the diagram is one block with a line for each bar."""
    with hostile_night(tmp_path) as workspace:
        said = job_summary("", laid_out(sprint_facts(workspace, SPRINT)))
    assert said.count("```") == 2
    assert "<" not in said


def test_drawings_are_whole(tmp_path: Path) -> None:
    """Each drawing is XML with separate styles, also with hostile texts."""
    for made in (night, hostile_night):
        folder = tmp_path / made.__name__
        folder.mkdir()
        with made(folder) as workspace:
            for draw in DRAWINGS.values():
                root = ET.fromstring(draw(sprint_facts(workspace, SPRINT)))
                assert root.tag == "{http://www.w3.org/2000/svg}svg"
                assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
