"""The `sprintlog gate` commands: run a gate, record its result, and list all gates."""

import sys
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.adapters.processes.signals import InterruptedBySignal, Signals
from sprintlog.engine.errors import NotFoundError, SprintlogError
from sprintlog.engine.service.driver.gate import run_gate
from sprintlog.engine.service.lost_runs import is_alive
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import GateBlocked, GateChecked
from sprintlog.engine.sprint.phases import gate as gates
from sprintlog.engine.sprint.phases.gate import GatePolicy, gate_of
from sprintlog.engine.sprint.phases.gate_checks import RecordGate
from sprintlog.engine.sprint.state import transitions, tree, words
from sprintlog.projections.views import work as views
from sprintlog.projections.views.events import reference
from sprintlog.projections.views.work import GateAnswer, GateStanding, gate_run
from sprintlog.projections.workspace import Outcome, Workspace

from .. import typed
from ..context import ReadOptions, environment, with_reading, with_recording
from ..output import GATE_FAILED, note, print_error, print_json, print_text, table, warn
from ..record import answer_and_refresh, recording, refresh

PHASE = typed.option(
    "--phase", metavar="ADDRESS", help="The gate's phase. [the one the pointer waits for]"
)


@typed.group("gate")
def command() -> None:
    """Run the gate of a phase, or record its result.

    A gate checks completed work: the work of a leaf in progress, or of a phase whose leaves
    are all finished. A phase is not completed until its gate has passed.
    """


@command.command()
@PHASE
@typed.seconds_option(
    "--timeout",
    takes_zero=False,
    help="Timeout of the script. [the timeout in the plan; 60]",
)
@typed.list_option(
    "--env",
    "pass_on",
    setting="gate.environment",
    metavar="NAME",
    help="Pass another environment variable.",
)
@with_recording
def run(
    phase: str | None, timeout: float | None, pass_on: tuple[str, ...], **given: Any
) -> None:
    """Run a gate's script in the work tree and record its result.

    If the gate fails, the exit status is 6, and standard output is a prompt for the agent
    that fixes the problem: the gate's on-fail prompt and the script's output.

    Example: sprintlog gate run --phase build --timeout 300
    """
    arguments = {"phase": phase, "timeout": timeout, "env": pass_on}
    try:
        with recording("gate run", given) as run, Signals() as signals:
            run.finish_restores()
            ran = run_gate(
                run.workspace,
                run.sprint_id,
                environment=environment(),
                phase=phase,
                timeout_seconds=timeout,
                pass_on=pass_on,
                interruptible=signals.interruptible,
                **run.envelope(arguments),
            )
            if ran.refreshed and ran.refreshed.problem:
                warn(ran.refreshed.problem)
            code = answer_gate(run.workspace, ran.outcome, as_json=run.options.as_json)
    except InterruptedBySignal as signal:
        code = 128 + signal.number
    sys.exit(code)


@command.command()
@typed.option(
    "--exit-code", required=True, type=click.IntRange(0, 255), help="The exit code."
)
@typed.option(
    "--output-file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="A file with the output; - for standard input.",
)
@PHASE
@typed.flag("--timed-out", help="The gate was terminated at its timeout.")
@typed.seconds_option("--duration", help="The duration.")
@typed.number_option(
    "--attempt", least=1, help="The attempt's number; each is recorded once. [next]"
)
@with_recording
def record(
    exit_code: int,
    output_file: Path | None,
    phase: str | None,
    timed_out: bool,
    duration: float | None,
    attempt: int | None,
    **given: Any,
) -> None:
    """Record the result of a gate that ran elsewhere; the event is marked accordingly.

    The same rules apply, and the output is the same as that of `gate run`.

    Example: sprintlog gate record --exit-code 1 --output-file ci.log --phase build
    """
    duration_ms = None if duration is None else round(1000 * duration)
    result = gates.GateResult(exit_code, timed_out, duration_ms, **_printed(output_file))
    arguments = {"phase": phase, "attempt": attempt, "result": result}
    command = RecordGate(result, phase, attempt)
    with recording("gate record", given) as run:
        outcome = run.handle_with(command, arguments)
        code = answer_gate(run.workspace, outcome, as_json=run.options.as_json)
    sys.exit(code)


@command.command()
@PHASE
@with_reading
def show(phase: str | None, reading: ReadOptions) -> None:
    """List all gates with their statuses, or show one gate with its last output.

    Example: sprintlog gate show --phase build --json
    """
    with reading.opened() as (_, sprint):
        transitions.check_exists(sprint)
        if phase is not None:
            nodes = [gates.find_gate(sprint, phase)]
        else:
            every = dict.fromkeys(sprint.plan.tree.nodes.values())
            nodes = [node for node in every if tree.gate_status(node.data) is not None]
        found = [views.gate(sprint, node, is_alive) for node in nodes]
    if reading.as_json:
        print_json(found if phase is None else found[0])
    elif not found:
        raise NotFoundError(f"no phase of sprint {sprint.id} has a gate")
    elif phase is None:
        print_text(*table([_row(gate) for gate in found]))
    else:
        print_text(*_lines(found[0]))


def _printed(file: Path | None) -> dict[str, Any]:
    """Return a script's output from a file, limited in the same way as for `gate run`."""
    if file is None:
        return {}
    output = Output()
    try:
        with click.open_file(str(file), "rb") as opened:
            while chunk := opened.read(1 << 16):
                output.feed(chunk)
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}: no such file", file=str(file)) from error
    return {
        "output": output.text(),
        "output_bytes": output.bytes,
        "output_sha256": output.sha256,
    }


def _row(gate: GateStanding) -> tuple[str, ...]:
    return (
        gate.phase,
        gate.status + (" (lost)" if gate.lost else ""),
        f"{gate.attempts} of {gate.attempts_max}",
        (gate.script or "").split("\n")[0],
    )


def _lines(gate: GateStanding) -> list[str]:
    lines = ["  ".join(_row(gate)[:3]) + f"  limit {gate.timeout_seconds:g} s"]
    if gate.pid:
        gone = ", which is gone" if gate.lost else ""
        lines.append(f"run by process {gate.pid}{gone}")
    for name in ("error", "script", "on_fail_prompt", "last_exit_code", "last_output"):
        if (value := getattr(gate, name)) is not None:
            lines += [f"{name.replace('_', ' ')}:", *_indented(str(value))]
    return lines


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.rstrip("\n").split("\n")]


def answer_gate(workspace: Workspace, outcome: Outcome, *, as_json: bool) -> int:
    """Print the result of a gate, update the state file, and return the exit status."""
    events = [CODEC.decode(recorded) for recorded in outcome.events]
    checked = next((event for event in events if isinstance(event, GateChecked)), None)
    if checked is None:
        answer_and_refresh(workspace, outcome, as_json=as_json)
        return 0
    word = gates.verdict_of(checked)
    if any(isinstance(event, GateBlocked) for event in events):
        word = words.BLOCKED
    try:
        recorded = [*map(reference, outcome.events)]
        answer = gate_run(
            outcome.sprint, checked, recorded, status=word, duplicate=outcome.duplicate
        )
        if as_json:
            print_json(answer)
        else:
            _print(outcome, checked, answer)
    finally:
        refresh(workspace, outcome.sprint.id)
    return 0 if word == words.PASSED else GATE_FAILED


def _print(outcome: Outcome, checked: GateChecked, answer: GateAnswer) -> None:
    """Print a verdict; stdout contains only the data required to fix the problem."""
    most = answer.attempts_max
    attempt = f"attempt {checked.attempt} of at most {most}"
    if checked.attempt == most:
        attempt = f"attempt {most}, the last"
    if checked.left_behind:
        left = checked.left_behind
        warn(f"processes left running by the gate of {checked.phase} were stopped: {left}")
    node = outcome.sprint.plan.tree.find(checked.phase)
    if answer.status == words.PASSED:
        others = "".join(f", {x.type}" for x in answer.events[1:])
        print_text(
            f"{outcome.sprint.id}: the gate of {checked.phase} passed{others}"
            f"  [position {answer.position}, version {answer.version}]"
        )
        if node is not None and node.status == words.IN_PROGRESS and not node.children:
            note(f"next: `sprintlog phase complete {node.address}`")
        return
    how = f"exit code {checked.exit_code}"
    if checked.timed_out:
        how = "timed out"
    told = answer.repair_prompt or gates.failure_text(
        gate_of(node) if node else GatePolicy(None, None),
        phase=checked.phase,
        attempt=checked.attempt,
        exit_code=checked.exit_code,
        timed_out=checked.timed_out,
        output=checked.output,
    )
    print_text(*told.split("\n"))
    hint = "fix it, then run `sprintlog gate run`; stdout contains the repair prompt"
    if answer.status == words.BLOCKED:
        hint = "run `sprintlog sprint resume --by NAME --why TEXT`, then run the gate again"
    blocked = ", blocked" if answer.status == words.BLOCKED else ""
    message = f"the gate of {checked.phase} failed: {how} ({attempt}{blocked})"
    print_error(SprintlogError(message, hint=hint), as_json=False)
