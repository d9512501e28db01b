"""Two machines on one log: work on a sprint, owners of files, takeover."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from os import urandom
from pathlib import Path

import psycopg
import pytest

from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.postgres import appends
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from ....postgres.server import NEWEST, server, why_not
from ...conftest import Run

PLAN = "phases: [{id: a, prompt: x}, {id: b, prompt: y}]"
GATED = "phases: [{id: a, prompt: x, gate: {script: 'true'}}, {id: b, prompt: y}]"
AGENT = (sys.executable, "-c", "import sys; sys.stdin.read(); print('done')")
WAITS = """
import os, time
parent = os.getppid()
open("at-work", "w").close()
while os.getppid() == parent and not os.path.exists("go-on"):
    time.sleep(0.02)
print("done")
"""
At = Callable[[str], Path]


@pytest.fixture
def url() -> str:
    """Provide the address of a new log."""
    if reason := why_not(NEWEST):
        pytest.skip(reason)
    return server(NEWEST).new_url()


@pytest.fixture
def at(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> At:
    """Provide a function that switches to a machine: its name, home and work tree."""
    monkeypatch.setenv("SPRINTLOG_LOG", url)

    def go(host: str) -> Path:
        place = folder / host
        (place / "tree").mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("SPRINTLOG_HOST", host)
        # The sprint belongs to the first machine's tree, so other machines must name it.
        monkeypatch.setenv("SPRINTLOG_SPRINT", "auth")
        monkeypatch.setenv("HOME", str(place))
        monkeypatch.chdir(place / "tree")
        return place / "tree"

    return go


@pytest.fixture
def log(url: str, at: At, done: Run) -> Iterator[PostgresLog]:
    """Provide the log, created by machine `one`, with a sprint of two phases."""
    tree = at("one")
    done("init")
    (tree / "plan.yaml").write_text(PLAN)
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    with closing(PostgresLog(url, clock=wall_clock, entropy=urandom)) as log:
        yield log


def types(done: Run) -> list[str]:
    """Return the types of all events."""
    return [event["type"] for event in done("log", "--json").lines]


def test_state_files_are_those_of_one_machine(log: PostgresLog, at: At, done: Run) -> None:
    """Another machine records in the sprint, but writes none of its files."""
    other = at("two")
    done("sprint", "start")
    assert not (other / "PROGRESS.yaml").exists()
    own = at("one")
    done("note", "seen")
    assert "in-progress" in (own / "PROGRESS.yaml").read_text()
    assert done("verify").code == 0


def test_a_gate_checks_the_files_of_its_machine(
    url: str, at: At, done: Run, run: Run
) -> None:
    """On another machine it is refused, and the error names the right one."""
    tree = at("one")
    done("init")
    (tree / "plan.yaml").write_text(GATED)
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("phase", "start")
    at("two")
    refused = run("gate", "run")
    assert refused.code == 1
    assert "works in the work tree one" in refused.err


def test_a_restore_elsewhere_says_where_the_files_are(
    log: PostgresLog, at: At, done: Run, run: Run
) -> None:
    """Files saved on one machine are not on another, and the error names the machine."""
    at("one")
    done("sprint", "start")
    taken = done("iteration", "snapshot", "--json").json["snapshot"]
    other = at("two")
    for words in (("--into", "out"), ("--branch", "b"), ("--apply", "--yes")):
        refused = run("restore", f"snapshot:{taken}", *words)
        assert refused.code == 3
        assert "are in the store of the work tree one, but not in" in refused.err
        assert "`snapshot.remote`" in refused.err
    assert [*other.iterdir()] == [other / ".sprintlog"]


def test_a_sprint_has_one_worker(log: PostgresLog, at: At, run: Run, done: Run) -> None:
    """While one machine works on it, `run` on another ends with 5 and names the first."""
    stream = "sprint/auth"
    at("two")
    with log.leases.hold(stream, holder="one:x", host="one"):
        refused = run("run", "--", *AGENT)
        assert refused.code == 5
        assert "is being worked on by one since" in refused.err
        assert "run-started" not in types(done)
    assert run("run", "--", *AGENT).code == 0
    assert types(done)[-1] == "run-ended"


def test_a_lost_machine_is_taken_over(
    log: PostgresLog, at: At, run: Run, done: Run
) -> None:
    """A dead machine stops sending heartbeats; after its lease, another one continues."""
    kill_at_work(at("one"))
    at("two")
    seen = done("status", "--json").json["run"]
    assert (seen["state"], seen["host"]) == ("elsewhere", "one")
    assert seen["heartbeat"] >= seen["since"][:10]
    assert 0 < seen["lease_seconds"] <= appends.LEASE_SECONDS
    said = " ".join(done("status").out.split())
    assert "on one was last seen" in said
    assert "run `sprintlog run -- COMMAND` to continue here" in said
    assert run("run", "--", *AGENT).code == 5
    let_time_pass(log)
    done("run", "--", *AGENT)
    ends = [e["data"] for e in done("log", "--type", "run-ended", "--json").lines]
    assert [end["because"] for end in ends] == ["lost", "done"]
    assert done("status", "--json").json["status"] == "completed"


def test_a_machine_that_comes_back_records_nothing_more(
    log: PostgresLog, at: At, done: Run
) -> None:
    """Cut off during its agent's work, it finds its lease lost: its late end is refused."""
    tree = at("one")
    loop = begin(tree)
    let_time_pass(log)
    at("two")
    done("run", "--", *AGENT)
    before = types(done)
    (tree / "go-on").touch()
    _, said = loop.communicate(timeout=60)
    assert "was lost to another worker" in said
    assert types(done) == before


def begin(tree: Path) -> "subprocess.Popen[str]":
    """Start a loop in a separate process, and wait until its agent works."""
    loop = subprocess.Popen(
        [sys.executable, "-m", "sprintlog.cli", "run", "--", sys.executable, "-c", WAITS],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tree,
    )  # fmt: skip
    while not (tree / "at-work").exists():
        assert loop.poll() is None, loop.communicate()
        time.sleep(0.02)
    return loop


def kill_at_work(tree: Path) -> None:
    """Kill a machine while its agent is working."""
    loop = begin(tree)
    loop.kill()
    loop.communicate(timeout=60)


def let_time_pass(log: PostgresLog) -> None:
    """Make every lease expire, as after a minute of silence."""
    with psycopg.connect(log.address.given, autocommit=True) as raw:
        raw.execute("UPDATE sprintlog.leases SET expires = now() - interval '1 second'")


@pytest.mark.parametrize("named", ["a/b", "a\nb", "x" * 65])
def test_a_name_of_a_machine_is_a_word(
    log: PostgresLog, at: At, run: Run, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A name that could be mistaken for something else is refused."""
    monkeypatch.setenv("SPRINTLOG_HOST", named)
    refused = run("status")
    assert refused.code == 1
    assert "SPRINTLOG_HOST" in refused.err
