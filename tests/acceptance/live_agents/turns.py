"""Turns of real agents' sessions are iterations like those of `wrap`."""

import re
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..criterion import Skip, Verdict
from .model_server import ModelServer
from .places import Place, new_place, trust
from .programs import Program, installed
from .runs import end_in_the_middle, git
from .sessions import UNASKED, Session, session_of, turn_command

MEASURE = {
    "test.sh": "#!/bin/sh\necho $(cat work.txt more.txt 2>/dev/null | grep -c line)/2\n",
    "sprintlog.toml": '[measure]\nrun = ["./test.sh"]\n',
}
"""A repository whose tests count two lines, as its settings know."""
WORK = ("first", "second", "worse")
"""Plays whose tests pass 1, 2 and 1 of 2 times."""
SAME = (
    *("class", "score", "dimensions", "figures", "from_previous", "alerts", "reasons"),
    *("status", "outcome", "is_best", "is_on_path", "summary"),
)
SPENT = ("runs", "input_tokens", "output_tokens", "cache_read_tokens")
ON_PAGE = ("class", "score", "alerts", "files changed", "tests passed")

THINKS_SECONDS = 2.0
"""As any real model, the scripted one does not act in the moment of the prompt."""

Scenario = Callable[[Program, ModelServer, Path | None], list[str]]


def as_wraps(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Give three turns of a session, and three runs of `wrap`; compare the records."""
    return _each(_as_wraps, folder)


def continued(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Give turns that a blocked stop, a task in the background or nothing continues."""
    return _each(_continued, folder)


def mixed(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Give turns inside `wrap`, beside `wrap`, and in two worktrees at once."""
    return _each(_mixed, folder)


def _each(scenario: Scenario, folder: Path | None) -> Verdict:
    programs = [one for one in installed(folder) if one.name in UNASKED]
    if not programs:
        raise Skip(f"not installed: none of {', '.join(UNASKED)}")
    problems = []
    with ModelServer(thinks=THINKS_SECONDS) as server:
        for program in programs:
            found = scenario(program, server, folder)
            problems += [f"{program.name}: {problem}" for problem in found]
    names = ", ".join(program.name for program in programs)
    return Verdict(not problems, f"sessions of {names}", problems)


def _as_wraps(program: Program, server: ModelServer, folder: Path | None) -> list[str]:
    with new_place(program, server, folder, MEASURE) as place:
        hook(place)
        with Session(place) as session:
            for number, play in enumerate(WORK, 1):
                session.turn(play)
                place.iterations(number)
                if play == "second":
                    (place.work / "own.txt").write_text("by a person\n")
        hooked = _records(place)
    with new_place(program, server, folder, MEASURE) as place:
        place.run("config", "--trust")
        place.run("init")
        session_id = None
        for play in WORK:
            prompt = f"Do it. play:{play} at:{place.work}"
            command = turn_command(place, prompt, session=session_id)
            wrap = ("wrap", "--snapshot", "--measure", "./test.sh", "--")
            session_id = session_of(place.run(*wrap, *command))
            if play == "second":
                (place.work / "own.txt").write_text("by a person\n")
        wrapped = _records(place)
    return [
        f"{name}: {hooked.get(name)!r}, not {value!r}"
        for name, value in wrapped.items()
        if hooked.get(name) != value
    ]


def _records(place: Place) -> dict[str, Any]:
    """Return the answers about three iterations, without times and ids."""
    iterations = place.iterations(3)
    found: dict[str, Any] = {"iterations": [one["iteration"] for one in iterations]}
    for one in iterations:
        of = f"of iteration {one['iteration']}"
        found |= {f"{name} {of}": one.get(name) for name in SAME}
        if place.program.has_tokens:
            found |= {f"{name} {of}": one["spent"].get(name) for name in SPENT}
    lines = [line.split() for line in place.run("list").splitlines()]
    found["list"] = [lines[0], *(line[:4] for line in lines[1:4])]
    for line in ("work.txt:1", "more.txt:1", "own.txt:1"):
        writers = re.findall(r"iteration +\d+|written outside", place.run("why", line))
        found[f"why {line}"] = writers
    place.run("report", "--html", "night.html")
    page = place.work / "night.html"
    found["page"] = _table(page.read_text())
    page.unlink()
    place.run("rollback", "best", "--files", "--yes")
    texts = sorted(place.work.glob("*.txt"))
    found["files"] = {path.name: path.read_text() for path in texts}
    place.run("verify")
    return found


def _table(page: str) -> list[dict[str, str]]:
    """Return the rows of a page's table of iterations."""
    rows = [
        [re.sub("<.*?>", "", cell).strip() for cell in re.split("</t[hd]>", row)]
        for row in re.findall("<tr.*?</tr>", page, re.DOTALL)
    ]
    head = next(row for row in rows if row[0] == "iteration")
    body = rows[rows.index(head) + 1 :][:3]
    cells = [dict(zip(head, row, strict=False)) for row in body]
    return [{name: row.get(name, "missing") for name in ON_PAGE} for row in cells]


def _continued(program: Program, server: ModelServer, folder: Path | None) -> list[str]:
    """Refuse a claim once, and until the third refusal stops the sprint; await a task."""
    problems: list[str] = []
    settings = MEASURE["sprintlog.toml"] + "[hooks]\nblock-stop = true\n"
    for play, blocked, tests in (("premature", 1, 2), ("stubborn", 2, 1)):
        files = {**MEASURE, "sprintlog.toml": settings}
        with new_place(program, server, folder, files) as place:
            hook(place)
            place.run("goal", "set", "Both lines are there")
            server.ledger.taken()
            with Session(place) as session:
                session.turn(play)
            found = _passed(place, 1)
            says = sum(one.act == "Say" for one in server.ledger.taken() if one.play)
            compare(problems, f"{play}: tests", found, [tests])
            compare(problems, f"{play}: answers", says, blocked + 1)
    if program.name == "claude":
        with new_place(program, server, folder, MEASURE) as place:
            hook(place)
            with Session(place) as session:
                session.turn("awaiting")
            found = _passed(place, 1)
            compare(problems, "a task in the background: tests", found, [1])
    return problems


def _mixed(program: Program, server: ModelServer, folder: Path | None) -> list[str]:
    problems: list[str] = []
    for part in (_beside_wrap, _in_worktrees, _in_one_tree, _killed):
        with new_place(program, server, folder, MEASURE) as place:
            hook(place)
            part(place, server, problems)
    return problems


def _beside_wrap(place: Place, server: ModelServer, problems: list[str]) -> None:
    """Give a turn inside `wrap`, another one outside, and run a script in `wrap`."""
    wrap = ("wrap", "--snapshot", "--measure", "./test.sh", "--")
    with Session(place, prefix=("sprintlog", *wrap)) as session:
        session.turn("first")
        if place.program.name == "claude":
            session.turn("question")
    with Session(place) as session:
        session.turn("second")
        place.iterations(2)
    place.run(*wrap, "touch", "third.txt")
    compare(problems, "a session between two wraps: tests", _passed(place, 3), [1, 2, 2])
    runs = place.ask("status")[0]["spent"].get("runs")
    compare(problems, "a session between two wraps: runs", runs, 3)


def _in_worktrees(place: Place, server: ModelServer, problems: list[str]) -> None:
    """Give turns in two worktrees by turns; each has a sprint with its own iterations."""
    other = place.work.parent / "other"
    git(place.work, "worktree", "add", "-q", str(other), "-b", "other")
    away = place._replace(work=other)
    trust(place.program, Path(place.env["HOME"]), other)
    with Session(place) as here, Session(away) as there:
        for number, play in enumerate(WORK[:2], 1):
            here.turn(play)
            there.turn(play)
            for one in (place, away):
                one.iterations(number)
    for one in (place, away):
        compare(problems, f"{one.work.name}: tests", _passed(one, 2), [1, 2])


def _in_one_tree(place: Place, server: ModelServer, problems: list[str]) -> None:
    """Give two turns at the same time in one tree."""
    with ThreadPoolExecutor() as pool:
        done = [pool.submit(_one_turn, place, play) for play in WORK[:2]]
        for one in done:
            one.result()
    iterations = place.iterations(2, measured=False)
    said = sorted(one.get("summary") or "" for one in iterations)
    compare(problems, "at the same time", said, ["First done.", "Second done."])
    runs = [one["spent"].get("runs") for one in iterations]
    compare(problems, "at the same time: runs", runs, [1, 1])


def _one_turn(place: Place, play: str) -> None:
    with Session(place) as session:
        session.turn(play)


def _killed(place: Place, server: ModelServer, problems: list[str]) -> None:
    """Kill a session in the middle of a turn; the next session ends its iteration."""
    command = turn_command(place, f"Do it. play:slow at:{place.work}")
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        command,
        cwd=place.work,
        env=place.env,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
    ) as process:
        end_in_the_middle(process.pid, signal.SIGKILL, server)
    _one_turn(place, "first")
    compare(problems, "after a kill: tests", _passed(place, 1), [None, 1])
    statuses = [one["status"] for one in place.iterations(2, measured=False)]
    compare(problems, "after a kill: statuses", statuses, ["unknown", "completed"])


def _passed(place: Place, measured: int) -> list[Any]:
    """Return the numbers of passed tests once so many iterations are measured."""
    found = place.iterations(measured)
    return [one.get("metrics", {}).get("tests_passed") for one in found]


def hook(place: Place) -> None:
    """Install the agent's hooks in a repository whose settings are trusted."""
    place.run("config", "--trust")
    place.run("init")
    place.run("setup", place.program.name, "--yes")
    git(place.work, "add", ".")
    git(place.work, "commit", "-qm", "hooks")


def compare(problems: list[str], what: str, found: object, expected: object) -> None:
    """Add a problem if something is not as expected."""
    if found != expected:
        problems.append(f"{what}: {found!r}, not {expected!r}")
