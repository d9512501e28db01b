"""The records of hooks of real agents, however the agent ends."""

import json
import signal
from pathlib import Path
from typing import Any

from ..commands import run
from ..criterion import Skip, Verdict
from .model_server import ModelServer
from .places import new_place
from .programs import Environment, Program, installed
from .recording import CALLS
from .runs import Case, wrapped
from .sessions import UNASKED
from .tokens import ANSWER, Answered

BEFORE = {
    "claude": (".claude/settings.json", '{ "hooks" : { },\n\t"cleanupPeriodDays":  30}\n'),
    "codex": (".codex/hooks.json", '{"hooks":{ }  }'),
}
"""A file of somebody, in a form that nobody else would write."""


def tell_all(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Install hooks, run an agent to each of its ends, and remove the hooks."""
    programs = [one for one in installed(folder) if one.name in BEFORE]
    if not programs:
        raise Skip(f"not installed: none of {', '.join(BEFORE)}")
    problems: list[str] = []
    count = calls = by_hook = 0
    with ModelServer() as server:
        for case in (one for program in programs for one in _cases(program)):
            seen = _play(case, server, folder)
            problems += [f"{case}: {problem}" for problem in seen[0]]
            count, calls, by_hook = count + 1, calls + seen[1], by_hook + seen[2]
    names = ", ".join(program.name for program in programs)
    counts = f"{count} runs of {names}; {calls} tool calls, hooks reported {by_hook}"
    return Verdict(not problems, counts, problems)


def _cases(program: Program) -> list[Case]:
    plays = ["good", "failing", *(["delegating"] if program.name == "claude" else [])]
    ends = (signal.SIGTERM, signal.SIGKILL)
    return [
        *(Case(program, "stream", play) for play in plays),
        # With text output, only hooks and the transcript contain calls.
        Case(program, "text", "good"),
        *(Case(program, form, "slow", by) for form in ("stream", "text") for by in ends),
    ]


def _play(
    case: Case, server: ModelServer, folder: Path | None
) -> tuple[list[str], int, int]:
    """Return the problems, the number of calls, and the number reported by hooks."""
    with new_place(case.program, server, folder) as place:
        work, env = place.work, place.env
        own, before = BEFORE[case.program.name]
        (work / own).parent.mkdir()
        (work / own).write_text(before)
        run(work, "init", **env)
        run(work, "setup", case.program.name, "--yes", **env)
        prompt = f"Do it. play:{case.play} at:{work}"
        words = (*case.program.forms[case.form], *UNASKED[case.program.name], prompt)
        done, problems = wrapped([*words], work, env, by=case.by, server=server)
        try:
            found = _Found(work, env)
        except AssertionError as error:
            # Agents end their hooks after some seconds, which may be too early on a busy
            # machine.
            return [*problems, f"it cannot be examined: {error}"], 0, 0
        problems += _problems(case, server.ledger.taken(), found)
        run(work, "verify", **env)
        run(work, "setup", "--remove", case.program.name, "--yes", **env)
        if (work / own).read_text() != before:
            problems.append(f"{own} is not what it was")
        complaints = [
            line
            for line in done.stderr.decode("utf-8", "replace").splitlines()
            if line.startswith("sprintlog: ") and not line[11:].startswith(_SAID)
        ]
        by_hook = sum("found_in" not in call for call in found.calls)
        return [*problems, *complaints], len(found.calls), by_hook


_SAID = ("hooks reported", "tokens:", "add `--")


class _Found:
    """The contents of the log."""

    def __init__(self, work: Path, env: Environment) -> None:
        events = _answers(run(work, "log", "--all", "--json", **env))
        self.calls = [e["data"] for e in events if e["type"] == "tool-called"]
        self.sessions = {e["stream"] for e in events if e["stream"].startswith("session/")}
        status = _answers(run(work, "status", "--json", **env))[0]
        self.spent: dict[str, Any] = status["spent"]
        again = run(work, "session", "reconcile", "--ended", "--json", **env)
        self.again = _answers(again)[0]


def _answers(printed: bytes) -> list[Any]:
    return [json.loads(line) for line in printed.splitlines()]


def _problems(case: Case, answered: list[Answered], found: _Found) -> list[str]:
    problems = []

    def compare(what: str, is_so: object, expected: object) -> None:
        if is_so != expected:
            problems.append(f"{what}: {is_so!r}, not {expected!r}")

    whole = [one for one in answered if one.play is not None and one.is_whole]
    calls = sum(one.act in CALLS for one in whole)
    compare("sessions", len(found.sessions), 1)
    compare("tool calls", len(found.calls), calls)
    compare("calls by hook", sum("found_in" not in x for x in found.calls), calls)
    compare("tokens in", found.spent.get("input_tokens"), ANSWER.anew * len(whole))
    compare("tokens out", found.spent.get("output_tokens"), ANSWER.out * len(whole))
    compare("runs", found.spent.get("runs"), 1)
    again = {name: found.again[name] for name in ("calls", "seen", "recorded")}
    compare("compared again", again, {"calls": calls, "seen": calls, "recorded": 0})
    if case.program.name == "claude" and case.play == "failing":
        codes = [(call["ok"], call["exit_code"]) for call in found.calls]
        compare("outcomes", codes, [(False, 3), (False, 1)])
    if case.play == "delegating":
        by = sum("subagent" in call for call in found.calls)
        compare("calls by a subagent", by, 1)
    return problems
