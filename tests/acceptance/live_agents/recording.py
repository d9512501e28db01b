"""The records of `wrap` of real agents match the figures of the model server."""

import signal
from pathlib import Path

from ..criterion import Skip, Verdict
from .model_server import ModelServer
from .plays import FINAL
from .programs import Program, installed
from .runs import Case, Ran, play
from .tokens import ANSWER, Answered

CALLS = {"Delegate", "Edit", "Run", "Write"}
"""The acts of the scripted model that are calls of tools."""
_FAILS = {"limited-always", "refused"}
_CATEGORY = {"limited-always": "rate-limit"}


def as_the_server_says(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Record every program that is installed, however it ends."""
    programs = installed(folder)
    if not programs:
        raise Skip("not installed: no agent's program is on the PATH or in --agents FOLDER")
    problems: list[str] = []
    count = 0
    with ModelServer() as server:
        for case in (one for program in programs for one in _cases(program)):
            ran = play(case, server, folder)
            problems += [f"{case}: {problem}" for problem in _problems(case, ran)]
            count += 1
    names = ", ".join(program.name for program in programs)
    return Verdict(not problems, f"{count} runs of {names}", problems)


def _cases(program: Program) -> list[Case]:
    plays = ["good", "failing"]
    if program.gives_up:
        plays.append("limited-always")
    if program.name in ("claude", "copilot", "opencode"):
        plays.append("delegating")
    ends = (signal.SIGKILL, signal.SIGTERM)
    return [
        # Text output is the same however the agent ends.
        *(Case(program, form, "good") for form in program.forms if form == "text"),
        *(Case(program, f, p) for f in program.forms if f != "text" for p in plays),
        *(Case(program, "stream", "slow", by) for by in ends),
    ]


def _problems(case: Case, ran: Ran) -> list[str]:
    problems = [*ran.problems]

    def compare(what: str, found: object, expected: object) -> None:
        if found != expected:
            problems.append(f"{what}: {found!r}, not {expected!r}")

    recorded = ran.recorded
    compare("exit code", recorded.get("exit_code"), ran.exit_code)
    fails = case.play in _FAILS or case.by is not None
    # Gemini ends with 0 on SIGTERM, without a result.
    failed = "failed" if ran.exit_code else "unknown"
    compare("status", recorded.get("status"), failed if fails else "completed")
    heard, printed = recorded.get("output_bytes", 0), len(ran.stdout.encode())
    # Background processes whose parent was ended may continue to print, unrecorded.
    if heard != printed and (case.by is None or heard > printed):
        problems.append(f"printed bytes: {heard}, not {printed}")
    if case.play == "good":
        said = ran.stdout.strip() if case.form == "text" else FINAL
        compare("last words", ran.ended.get("summary", said), said)
    if case.play in _CATEGORY and case.form != "text":
        compare("category", recorded.get("error_kind"), _CATEGORY[case.play])
    hint = "sprintlog: add `-" if case.form == "text" else None
    lines = [line for line in ran.stderr.splitlines() if line.startswith("sprintlog:")]
    compare("complaints", [x for x in lines if not (hint and x.startswith(hint))], [])
    unknown = [answered.path for answered in ran.answered if answered.path]
    compare("asked the server for more", unknown, [])
    if case.form != "text" and case.by is None:
        for what, (found, expected) in _figures(case, ran).items():
            compare(what, found, expected)
    return problems


def _figures(case: Case, ran: Ran) -> dict[str, tuple[object, object]]:
    """Return the recorded and the true value of each figure."""
    program, recorded = case.program, ran.recorded
    answered = [one for one in ran.answered if one.status == 200 and _is_told(one, case)]
    usage = recorded.get("usage", {})
    figures: dict[str, tuple[object, object]] = {}
    if program.has_tokens and answered:
        for name, each in (
            ("input_tokens", ANSWER.anew),
            ("output_tokens", ANSWER.out),
            ("cache_read_tokens", ANSWER.cached),
        ):
            figures[name] = usage.get(name), each * len(answered)
    if program.names_model and answered:
        models = sorted({one.model for one in answered})
        figures["models"] = recorded.get("models"), models
    calls, told = sum(one.act in CALLS for one in answered), recorded.get("tool_calls")
    if (program.name, case.form) == ("claude", "json"):
        figures["tool calls, of which its result says none"] = told, None
    elif answered or told is not None:
        figures["tool calls"] = told, calls
    figures["agent"] = recorded.get("agent"), program.name
    sessions = recorded.get("sessions", [])
    is_named = len(sessions) == 1 and f'"{sessions[0]}"' in ran.stdout
    figures["one session, which it names"] = is_named, True
    return figures


def _is_told(answered: Answered, case: Case) -> bool:
    """Return whether a program's output contains an answer.

    An answer to a program that was killed earlier arrives late and belongs to another
    run.
    """
    if answered.dialect != case.program.dialect:
        return False
    if answered.play == "delegated":
        return case.program.counts_subagents
    return answered.play == case.play
