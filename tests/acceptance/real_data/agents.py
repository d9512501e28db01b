"""The output of real agents, recorded by `run` and `iteration end --from`."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..commands import answers, run, run_given
from ..criterion import Skip, Verdict

FIGURES = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "cost_usd",
)
EXPECTED: dict[str, tuple[float | None, ...]] = {
    "claude-2.1.197/result.json": (1080, 360, 9000, 270, 0.0205875),
    "claude-2.1.197/stream.jsonl": (1080, 360, 9000, 270, 0.0205875),
    "claude-2.1.330/result.json": (1200, 400, 10_000, 300, 0.0163),
    "claude-2.1.330/stream.jsonl": (1080, 360, 9000, 270, 0.01467),
    "codex-0.169.0/exec.jsonl": (1000, 250, 4000, 0, None),
    "codex-0.169.0/exec-file-changes.jsonl": (600, 150, 2400, 0, None),
    "gemini-0.61.0/result.json": (1200, 200, 2800, None, None),
    "copilot-1.0.102/run.jsonl": (None, None, None, None, None),
    "opencode-1.18.33/run.jsonl": (480, 160, 4000, 120, 0.00549),
    "claude-2.1.197/transcript.jsonl": (840, 280, 7000, 210, None),
    "claude-2.1.330/transcript.jsonl": (960, 320, 8000, 240, None),
    "codex-0.169.0/rollout.jsonl": (1000, 250, 4000, 0, None),
    "codex-0.169.0/rollout-file-changes.jsonl": (600, 150, 2400, 0, None),
    "gemini-0.61.0/session.jsonl": (1200, 200, 2800, None, None),
    "copilot-1.0.102/events.jsonl": (480, 160, 4000, 120, None),
    "opencode-1.18.33/plugin-events.jsonl": (480, 160, 4000, 120, 0.00549),
}
"""Of each run: input, output, cache read and cache creation tokens; dollars."""
IN_PART: dict[str, tuple[float | None, ...]] = {
    "claude-2.1.197/transcript-sigkill.jsonl": (240, 80, 2000, 60, None),
    "claude-2.1.197/subagent.jsonl": (240, 80, 2000, 60, None),
}
"""The same of incomplete files: a killed session, the part of a subagent."""
WORDS = "All done."
LAST_WORDS = "All done. RALPH_COMPLETE"


def understood(data: Path, seed: int) -> Verdict:
    """Each agent reaches a goal in one run, with all available figures of the run."""
    return _judged(data, EXPECTED, _problems)


def heard(data: Path, seed: int) -> Verdict:
    """Each ends an iteration, by name and by standard input, with those figures."""
    return _judged(data, {**EXPECTED, **IN_PART}, _problems_of_ends)


def _judged(
    data: Path,
    expected: dict[str, tuple[float | None, ...]],
    problems_of: Callable[[Path, tuple[float | None, ...]], list[str]],
) -> Verdict:
    folder = data / "agents"
    files = {name: folder / name for name in expected if (folder / name).exists()}
    if not files:
        raise Skip(f"there is no output of agents in {folder}")
    problems = [
        f"{name}: {problem}"
        for name, file in files.items()
        for problem in problems_of(file, expected[name])
    ]
    if missing := expected.keys() - files.keys():
        problems.append(f"not there: {sorted(missing)}")
    return Verdict(not problems, f"{len(files)} runs of agents", problems)


def _problems(file: Path, expected: tuple[float | None, ...]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        work = Path(name)
        run(work, "init", "--here")
        run(work, "sprint", "create", "s", "--goal", "Do it all")
        run(work, "run", "--", "cat", file.resolve())
        events = answers(work, "log")
    problems = _wrong_figures(_data(events, "agent-ran"), expected)
    if (said := _data(events, "goal-completed").get("summary")) != WORDS:
        problems.append(f"its words: {said!r}")
    return problems


def _problems_of_ends(file: Path, expected: tuple[float | None, ...]) -> list[str]:
    ways = {"file": (str(file.resolve()), b""), "input": ("-", file.read_bytes())}
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        work = Path(name)
        run(work, "init", "--here")
        run(work, "sprint", "create", "s", "--goal", "Do it all")
        run(work, "sprint", "start")
        for source, given in ways.values():
            run(work, "iteration", "start")
            for _ in range(2):
                run_given(given, work, "iteration", "end", "--from", source)
        events = answers(work, "log")
    ran, ended = (
        [event["data"] for event in events if event["type"] == type_]
        for type_ in ("agent-ran", "iteration-ended")
    )
    if (len(ran), len(ended)) != (2, 2):
        return [f"{len(ran)} runs and {len(ended)} ends in 2 iterations"]
    is_whole = expected in EXPECTED.values()
    problems = []
    for way, one, end in zip(ways, ran, ended, strict=True):
        problems += [f"{way}: {wrong}" for wrong in _wrong_figures(one, expected)]
        if is_whole and end.get("summary") != LAST_WORDS:
            problems.append(f"{way}: its words: {end.get('summary')!r}")
        lines = sum(1 for line in file.read_bytes().splitlines() if line.strip())
        if file.suffix == ".jsonl" and one.get("lines") != lines:
            problems.append(f"{way}: {one.get('lines')} lines, not {lines}")
        if one.get("unknown_lines"):
            problems.append(f"{way}: {one['unknown_lines']} lines not understood")
        if one.get("agent") != file.parent.name.partition("-")[0]:
            problems.append(f"{way}: taken for {one.get('agent')}")
    return problems


def _wrong_figures(ran: dict[str, Any], expected: tuple[float | None, ...]) -> list[str]:
    problems = []
    usage = ran.get("usage", {})
    for field, value in zip(FIGURES, expected, strict=True):
        found = usage.get(field)
        is_same = found == value
        if found is not None and value is not None:
            is_same = abs(found - value) < 1e-9
        if not is_same:
            problems.append(f"{field}: {found}, not {value}")
    return problems


def _data(events: list[Any], type_: str) -> dict[str, Any]:
    return next((e["data"] for e in events if e["type"] == type_), {})
