"""Sessions as agents write them: in pieces, forked, with subagents, interrupted."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ...conftest import Result, Run

CASES = Path(__file__).resolve().parents[4] / "fixtures" / "transcripts"
NAMES = ("input", "output", "cache_read", "cache_creation")
SESSION = "4f8ab323-11e5-58ea-87ea-6f808d69455a.jsonl"
GROWN = (25, 450, 40_600, 2_000)
WITH_SUBAGENT = (29, 185, 23_200, 1_270)
IMPORT = "import transcript"


class Case(NamedTuple):
    """Commands in a copy of a folder, and the figures of the sprint afterwards."""

    id: str
    commands: tuple[str, ...]
    tokens: tuple[int | None, ...]
    """Input, output, cache reads, cache creation; None if the figure is absent."""
    calls: int | None
    """Calls of tools; None if they are not stated."""
    iterations: int = 1
    at_least: tuple[str, ...] = ()
    duration_ms: int = 0

    def name(self) -> str:
        """Return the name of the test."""
        return f"{self.id}-{len(''.join(self.commands))}"


ONE, TWO = f"{IMPORT} 1/full.jsonl", f"{IMPORT} 2/full.jsonl"
THREE = (20, 350, 24_040, 1_100)
PARTIAL = ("output_tokens", "tokens")
TABLE = (
    Case("A1a", (ONE, TWO), GROWN, 3),
    Case("A1a", (TWO, ONE, TWO, ONE), GROWN, 3),
    Case(
        "A1a-grows",
        ("cp first.jsonl s.jsonl", f"{IMPORT} s.jsonl")
        + 2 * ("cp longer.jsonl s.jsonl", f"{IMPORT} s.jsonl"),
        GROWN,
        3,
    ),
    Case("A1a-three", (f"{IMPORT} a.jsonl b.jsonl c.jsonl",), THREE, 4),
    Case("A1a-three", (f"{IMPORT} c.jsonl", f"{IMPORT} b.jsonl a.jsonl"), THREE, 4),
    Case("A1b", (f"{IMPORT} {SESSION}",), WITH_SUBAGENT, 2),
    Case("A1b", (f"{IMPORT} {SESSION} agent-1a2b3c4d.jsonl",), WITH_SUBAGENT, 2),
    Case("A1b", (f"{IMPORT} agent-1a2b3c4d.jsonl",), WITH_SUBAGENT, 2),
    Case(
        "A2",
        (f"{IMPORT} rollout-parent.jsonl rollout-child.jsonl",),
        (3_500 + 1_500, 380 + 210, 5_000 + 7_500, None),
        3,
        iterations=2,
    ),
    Case("A2", (f"{IMPORT} rollout-child.jsonl",), (1_500, 210, 7_500, None), 1),
    Case(
        "A2-bare",
        (f"{IMPORT} rollout-child.jsonl", f"{IMPORT} rollout-parent.jsonl"),
        (200 + 300, 25 + 40, 900 + 500, None),
        2,
        iterations=2,
    ),
    Case("B1", (f"{IMPORT} session.jsonl",), (9, 214, 37_690, 930), 2, at_least=PARTIAL),
    Case("B1-again", (f"{IMPORT} session.jsonl",), (5, 211, 24_800, 840), 1),
    Case("B3", (f"{IMPORT} session.jsonl",), (54, 85, 16_800, 2_970), 3, at_least=PARTIAL),
    Case("C1", ("import session-2026-02-03T10-00-c1d.json",), (4_400, 60, 5_800, None), 1),
    Case("C2", ("import rollout-2025-07-14T11-20-33-c2d.jsonl",), (None,) * 4, 1),
    Case("C4", (f"{IMPORT} session.jsonl",), (6, 55, 1_880, 110), 2),
    Case("C4-tool", (f"{IMPORT} session.jsonl",), (1, 9, 10, 1), 1),
    Case("C5", (f"{IMPORT} session.jsonl",), (2, 11, 21, 2), 0, duration_ms=60_500),
)


@pytest.fixture
def log(folder: Path, done: Run) -> Path:
    """Return a folder with an empty log."""
    done("init")
    return folder


def play(log: Path, run: Run, name: str, *commands: str) -> Result:
    """Run commands in a folder with the files of a case; return the result of the last."""
    shutil.copytree(CASES / name, log, dirs_exist_ok=True)
    for command in commands:
        words = shlex.split(command)
        if words[0] == "cp":
            shutil.copy(log / words[1], log / words[2])
            continue
        result = run(*words)
    return result


def runs(run: Run) -> list[Any]:
    """Return the recorded runs of agents."""
    events = run("log", "--json").lines
    return [event["data"] for event in events if event["type"] == "agent-ran"]


@pytest.mark.parametrize("case", TABLE, ids=Case.name)
def test_each_call_of_a_session_is_counted_once(log: Path, run: Run, case: Case) -> None:
    """However its lines are distributed, a session has the figures of its calls."""
    assert play(log, run, case.id, *case.commands).code == 0
    spent = run("status", "--json").json["spent"]
    assert tuple(spent.get(f"{name}_tokens") for name in NAMES) == case.tokens
    known = [case.tokens[at] or 0 for at in (0, 1, 3)]
    assert spent.get("tokens", 0) == sum(known)
    assert tuple(spent.get("at_least", ())) == case.at_least
    assert (spent["runs"], spent["duration_ms"]) == (case.iterations, case.duration_ms)
    found = runs(run)
    assert sum(one.get("tool_calls", 0) for one in found) == case.calls
    assert len({one["iteration"] for one in found}) == case.iterations


FORKS = {
    "A2": {(3_500, 5_000, 380, 2), (1_500, 7_500, 210, 1)},
    "A2-bare": {(300, 500, 40, 1), (200, 900, 25, 1)},
}


@pytest.mark.parametrize("name", FORKS)
def test_a_fork_has_nothing_of_its_parent(log: Path, run: Run, name: str) -> None:
    """Each of the two threads of Codex has the figures of its calls."""
    play(log, run, name, f"{IMPORT} rollout-child.jsonl rollout-parent.jsonl")
    names = ("input_tokens", "cache_read_tokens", "output_tokens")
    found = {(*(r["usage"][n] for n in names), r["tool_calls"]) for r in runs(run)}
    assert found == FORKS[name]


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("A1a", "completed", None),
        ("C1", "completed", None),
        ("C2", "completed", None),
        ("C4", "stopped", "the user stopped the agent"),
        ("C4-tool", "stopped", "the user stopped the agent"),
    ],
)
@pytest.mark.parametrize("is_backwards", [False, True])
def test_the_last_lines_decide_how_a_session_ended(
    log: Path, run: Run, name: str, status: str, error: str | None, is_backwards: bool
) -> None:
    """The file with the latest lines decides, not the one that is imported last."""
    files = sorted(str(x.relative_to(CASES / name)) for x in (CASES / name).rglob("*.js*"))
    for file in reversed(files) if is_backwards else files:
        assert play(log, run, name, f"import transcript {file}").code == 0
    last = runs(run)[-1]
    assert (last["status"], last.get("error")) == (status, error)


def test_a_bare_rollout_is_a_session_of_codex(log: Path, run: Run) -> None:
    """All lines are understood, with the start and commit from its first line."""
    play(log, run, "C2", "import rollout-2025-07-14T11-20-33-c2d.jsonl")
    (ran,) = runs(run)
    assert (ran["agent"], ran.get("unknown_lines", 0)) == ("codex", 0)
    assert ran["git_before"]["head"].startswith("1f2e3d4c")
    began = next(e for e in run("log", "--json").lines if e["type"] == "iteration-started")
    assert began["at"].startswith("2025-07-14T11:20:33")


@pytest.mark.parametrize("command", ["import logs.json", "import transcript logs.json"])
def test_the_users_input_to_gemini_is_not_a_session(
    log: Path, run: Run, command: str
) -> None:
    """It is refused with the reason, and nothing is recorded."""
    result = play(log, run, "C3", command)
    assert (result.code, "only the user's input" in result.err) == (1, True)
    assert run("verify", "--json").json["events"] == 0


@pytest.mark.parametrize(
    ("name", "code", "tokens", "iterations"),
    [("B2", 25, 15_030, 1), ("B2-reads", 20, 120, 4)],
)
def test_a_budget_counts_all_but_cache_reads(
    log: Path, run: Run, name: str, code: int, tokens: int, iterations: int
) -> None:
    """Tokens written to a cache are counted; tokens read from it are not."""
    run("sprint", "create", "g", "--goal", "all parts are in", "--max-iterations", "4")
    agent = ("--rest", "0", "--budget-tokens", "5000", "--", "sh", "agent.sh")
    result = play(log, run, name, shlex.join(("run", *agent)))
    assert result.code == code
    spent = run("status", "--json").json["spent"]
    assert (spent["tokens"], spent["runs"]) == (tokens, iterations)


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("is_backwards", [True, False])
def test_copied_lines_are_counted_once(
    log: Path, run: Run, is_marked: bool, is_backwards: bool
) -> None:
    """A session that starts with a copy of another one has only its own calls."""
    first = [json.loads(x) for x in (CASES / "A1a/1/full.jsonl").read_text().splitlines()]
    second = [json.loads(x) for x in (CASES / "A1a/2/full.jsonl").read_text().splitlines()]
    mark = {"forkedFrom": {"sessionId": first[0]["sessionId"]}} if is_marked else {}
    copies = [{**one, "sessionId": "a-copy", **mark} for one in first]
    own = [{**one, "sessionId": "a-copy"} for one in second]
    for name, lines in (("a.jsonl", first), ("b.jsonl", [*copies, *own])):
        (log / name).write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    for name in ("b.jsonl", "a.jsonl") if is_backwards else ("a.jsonl", "b.jsonl"):
        assert run("import", "transcript", name).code == 0
    spent = run("status", "--json").json["spent"]
    assert tuple(spent.get(f"{name}_tokens") for name in NAMES) == GROWN
    assert (spent["runs"], sum(one.get("tool_calls", 0) for one in runs(run))) == (2, 3)
