"""Hook inputs of real agents, recorded in any order and in any of three ways."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.service.agent_sessions.hook import take_hook

from ..commands import answers, clean_environment, run, run_given
from ..criterion import Skip, Verdict

Told = tuple[str, bytes]
"""An agent, and the input of one of its hooks."""
Sessions = dict[str, set[str]]
"""By stream, what its events say whatever their order and their times."""
NAMES = ("hooks*.jsonl", "http-hooks.jsonl", "plugin-events.jsonl")
AT_ONCE, SHUFFLES = 8, 6


class ThreeWays(NamedTuple):
    """One run of an agent, as reported by its hooks, its output and its transcript."""

    agent: str
    hooks: str
    stream: str | None
    transcript: str | None
    calls: int
    """How many tools it called, as far as any of the three says."""


RUNS = (
    ThreeWays("codex", "hooks.jsonl", "exec.jsonl", "rollout.jsonl", 4),
    ThreeWays("copilot", "hooks-camel.jsonl", "run.jsonl", "events.jsonl", 3),
    ThreeWays("opencode", "plugin-events.jsonl", "run.jsonl", None, 3),
    ThreeWays("claude-2.1.330", "hooks.jsonl", None, "transcript.jsonl", 7),
    ThreeWays("claude-2.1.197", "hooks-sigkill.jsonl", None, "transcript-sigkill.jsonl", 2),
)


def same_sessions(data: Path, seed: int) -> Verdict:
    """In order, shuffled, repeated and in parallel, the hooks record the same sessions."""
    told = [*_told(data)]
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        places = (Path(name) / str(number) for number in range(SHUFFLES + 3))
        first = _recorded(next(places), told)
        problems = _differences("twice", _recorded(next(places), [*told, *told]), first)
        for number in range(SHUFFLES):
            some = chance.sample(told, len(told) // 2)
            mixed = chance.sample([*told, *some], len(told) + len(some))
            found = _recorded(next(places), mixed)
            problems += _differences(f"shuffled {number + 1}", found, first)
        both = chance.sample([*told, *told], 2 * len(told))
        found = _recorded(next(places), both, at_once=AT_ONCE)
        problems += _differences("twice in parallel", found, first)
    events = sum(map(len, first.values()))
    counts = f"{len(told)} hooks, {len(first)} sessions, {events} events"
    return Verdict(not problems, counts, problems)


def one_event_a_call(data: Path, seed: int) -> Verdict:
    """Check that a call reported by hook, stream and transcript is counted once."""
    if not (data / "agents").exists():
        raise Skip(f"there is no output of agents in {data / 'agents'}")
    problems, count = [], 0
    for one in RUNS:
        (folder,) = (data / "agents").glob(f"{one.agent}*")
        for some in ("all", "half", "none"):
            problems += _problems_of_ways(one, folder, some, random.Random(seed))
            count += 1
    return Verdict(not problems, f"{count} runs", problems)


def _told(data: Path) -> Iterable[Told]:
    files = [f for name in NAMES for f in sorted((data / "agents").glob(f"*/{name}"))]
    if not files:
        raise Skip(f"there are no hooks of agents in {data / 'agents'}")
    for file in files:
        for line in file.read_bytes().splitlines():
            # Copilot also runs the hooks in Claude Code's file, with its own input format.
            is_other = "claude-dialect" in file.name
            yield ("claude" if is_other else file.parent.name.partition("-")[0]), line


def _recorded(work: Path, told: list[Told], *, at_once: int = 0) -> Sessions:
    """Return the contents of a new log; with `at_once`, several processes write it."""
    work.mkdir()
    run(work, "init", "--here")
    with ThreadPoolExecutor(at_once or 1) as pool:
        if at_once:
            list(pool.map(lambda one: run_given(one[1], work, "hook", one[0]), told))
    for agent, content in () if at_once else told:
        take_hook(
            agent,
            content,
            start=work,
            folder=None,
            safe=work / "none",
            environment=os.environ,
        )
    # If the log was busy for too long, the events wait for the next recording command.
    run(work, "sprint", "create", "s", "--goal", "Do it all")
    found: Sessions = {}
    for event in answers(work, "log", "--all"):
        if event["stream"].startswith("session/"):
            said = json.dumps([event["type"], event["data"]], sort_keys=True)
            found.setdefault(event["stream"], set()).add(f"{event['key']} {said}")
    run(work, "verify")
    return found


def _differences(how: str, found: Sessions, first: Sessions) -> list[str]:
    streams = sorted(found.keys() | first.keys())
    differ = [name for name in streams if found.get(name) != first.get(name)]
    return [f"{how}: {name} says something else" for name in differ]


def _problems_of_ways(
    one: ThreeWays, folder: Path, some: str, chance: random.Random
) -> list[str]:
    """Play an agent under `wrap` with hooks for some of its calls; compare all sources."""
    agent = one.agent.partition("-")[0]
    hooks = (folder / one.hooks).read_bytes().splitlines()
    calls = [line for line in hooks if _is_call(line)]
    left = {"all": 0, "half": len(calls) // 2, "none": len(calls)}[some]
    missed = {*chance.sample(calls, left)}
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        work, given = Path(name) / "work", Path(name) / "given"
        work.mkdir()
        given.mkdir()
        run(work, "init", "--here")
        script = [f"export HOME={name}"]
        for number, line in enumerate(hooks):
            if line not in missed:
                (given / f"{number}.json").write_bytes(line)
                hook = f"'{sys.executable}' -m sprintlog.cli hook {agent}"
                script.append(f"{hook} < {given / str(number)}.json")
        if one.stream is not None:
            script.append(f"cat {folder / one.stream}")
        subprocess.run(
            [*_SPRINTLOG, "wrap", "--", "sh", "-c", "\n".join(script)],
            cwd=work,
            env=clean_environment(),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        if one.transcript is not None:
            compare = ("session", "reconcile", "--transcript", folder / one.transcript)
            for _ in range(2):
                run(work, *compare, "--ended")
        for line in hooks if some != "all" else ():
            # Late events are distinguished by an id, or by their stated time. The
            # stream of Codex has neither.
            if line not in missed or agent != "codex":
                run_given(line, work, "hook", agent)
        events = answers(work, "log", "--all")
        found = [e["data"] for e in events if e["type"] == "tool-called"]
    sources = [call.get("found_in", "hook") for call in found]
    problem = f"{one.agent}, {some} of its hooks: {len(found)} events of {one.calls} calls"
    return [] if len(found) == one.calls else [f"{problem}: {sources}"]


_SPRINTLOG = [sys.executable, "-m", "sprintlog.cli"]


def _is_call(line: bytes) -> bool:
    said = json.loads(line)
    name = str(said.get("hook_event_name", ""))
    is_plugins = said.get("k") == "after"
    return name.startswith("PostToolUse") or is_plugins or "toolResult" in said
