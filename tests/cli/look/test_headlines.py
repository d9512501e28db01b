"""The first screens: `log`, and `status` in 15 lines that agree with other answers."""

import re
from pathlib import Path

import pytest

from sprintlog.cli.context import open_workspace
from sprintlog.cli.work.progress import LINES_MAX
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import CODEC, new_event

from ...golden.test_streams import STREAMS, lines, recorded_of
from ..conftest import Run


def fill(stream: Path) -> None:
    """Record a stored stream as the only sprint of a log."""
    with open_workspace() as workspace:
        recorded = map(recorded_of, lines(stream))
        events = [new_event(CODEC.decode(x), at=x.at, actor=x.actor) for x in recorded]
        workspace.log.append("sprint/night", events, expect=Expect.NONE)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.stem)
def test_headline_figures_agree(folder: Path, done: Run, stream: Path) -> None:
    """Each figure of `status` equals the one in the detailed --json answer."""
    done("init", "--here")
    fill(stream)
    shown, answer = done("status", "--verbose").out, done("status", "--json").json
    assert len(done("status").out.splitlines()) <= LINES_MAX

    def figures(pattern: str) -> list[str]:
        found = re.search(pattern, shown, re.MULTILINE)
        return [] if found is None else [*found.groups()]

    title = figures(r"^\S+  ([a-z-]+)(?:, stopped)?(?:  .*)?  version (\d+)$")
    assert title == [answer["status"], str(answer["version"])]
    for name, slashes in (("phases", 0), ("steps", 1)):
        found = [
            x["status"] for x in answer["phases"] if x["address"].count("/") == slashes
        ]
        found = found or [x["status"] for x in answer.get("steps", ()) if slashes]
        counts = [str(found.count("completed")), str(len(found))] if found else []
        assert figures(rf"^(?:phases .*)?{name} (\d+)/(\d+)\b") == counts
    rows = {row["iteration"]: row for row in done("list", "--json").json}
    for word, row in (answer.get("iterations") or {}).items():
        if word in ("best", "last"):
            number, score = figures(rf"{word} iteration (\d+) \(([\d.]+)")
            assert int(number) == row["iteration"]
            assert abs(float(score) - rows[row["iteration"]]["score"]) <= 0.005
    if best := figures(r"best iteration (\d+)"):
        assert done("iteration", "best", "--json").json["best"]["iteration"] == int(best[0])
    queued = re.findall(r"(\d+) ", "".join(figures(r"^queue: (.*)  \(")))
    requests = done("queue", "list", "--json").json
    assert sum(map(int, queued)) == len(requests)
    runs = figures(r"^agents: (\d+) runs?\b")
    spent = answer.get("spent", {})
    assert sum(map(int, runs)) == spent.get("runs", 0) + spent.get("runs_cut_short", 0)


def test_log_is_short_and_in_words(sprint: Path, done: Run) -> None:
    """Without options `log` has important events; any filter and --json have all."""
    done("iteration", "start")
    done("phase", "start", "setup")
    done("phase", "complete", "setup", "--summary", "on a branch")
    done("iteration", "rules", "set", "--threshold", "target=0.9")
    shown = done("log")
    assert [line.split("  ")[-1] for line in shown.out.splitlines()[2:]] == [
        "Phase setup completed: on a branch",
        "Rules set: thresholds target 0.9",
    ]
    assert shown.err == "note: 2 events not shown: `sprintlog log --all`\n"
    assert (
        len(done("log", "--json").lines) == len(done("log", "--all").out.splitlines()) == 6
    )


def test_status_warns_of_a_state_file_that_is_not_the_recorded_one(
    sprint: Path, done: Run
) -> None:
    """A missing or edited PROGRESS.yaml is reported, with the command to type."""
    file = sprint / "PROGRESS.yaml"
    assert done("status").err == ""
    file.write_text(file.read_text().replace("in-progress", "completed", 1))
    for command in (["status"], []):
        assert "was edited by hand: `sprintlog adopt`" in done(*command).err
    file.unlink()
    assert "is missing: run `sprintlog rebuild`" in done("status").err
    done("rebuild")
    assert done("status").err == ""
