"""The `sprintlog phase` commands, which change the status of a leaf."""

from typing import Any

from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.state.completion import waits_to_go_on
from sprintlog.engine.sprint.state.words import BLOCKED, MODELS

from .. import context, output, typed
from ..record import record, wait_until, with_failure

REASON = typed.option("--reason", help="Why.")


def with_phase(function: context.Function) -> context.Function:
    """Add the argument for a leaf's address; the default is the leaf at the pointer."""
    return typed.argument("phase", required=False, metavar="[PHASE/STEP/SUB-PHASE]")(
        context.with_recording(function)
    )


@typed.group("phase", lazy={"inject": "work.injection:command"})
def command() -> None:
    """Start, complete, fail, retry, skip or inject phases, steps and sub-phases.

    A leaf is addressed by ids, such as `build/step-1/implement`; the default is the leaf at
    the pointer. The status of parents is derived from their children; skip, retry and
    reopen accept a parent, which represents all its leaves.
    """


@command.command()
@with_phase
@typed.choice_option("--model", of=MODELS, help="The model to execute it.")
def start(phase: str | None, model: str | None, **given: Any) -> None:
    """Start a leaf.

    Example: sprintlog phase start build/step-0/implement
    """
    record("phase start", given, leaves.StartPhase(phase, model))


@command.command()
@with_phase
@typed.option("--summary", may_be_empty=True, help="A summary of the work.")
def complete(phase: str | None, summary: str | None, **given: Any) -> None:
    """Mark a leaf as completed.

    While the sprint is paused or otherwise stopped, the work is recorded as done; after the
    sprint is resumed, the loop or another call of this command completes the leaf. A step
    or phase is completed by its children, and then accepts a summary.

    Example: sprintlog phase complete setup --summary 'branch made'
    """
    sprint = record("phase complete", given, leaves.CompletePhase(phase, summary))
    if waits_to_go_on(sprint.plan):
        output.warn(
            f"the sprint is {sprint.plan.status}: the work is recorded, and "
            "`sprintlog phase complete` completes it after the sprint is resumed"
        )


@command.command()
@with_phase
@with_failure
def fail(
    phase: str | None, error: str, category: str, until: str | None, **given: Any
) -> None:
    """Mark a leaf as failed.

    The policy schedules another attempt (next-retry-at) or blocks the sprint. With --until,
    the agent is recorded as rate-limited, which is not a failure: the leaf continues at
    the given time.

    Example: sprintlog phase fail build --error '429' --category rate-limit
    """
    if until is None:
        failed = record("phase fail", given, leaves.FailPhase(error, category, phase))
        if failed.plan.status == BLOCKED:
            output.hint(
                "resolve it, then `sprintlog sprint resume --by NAME --why TEXT` and "
                "`sprintlog phase retry`"
            )
        return
    record("phase fail", given, wait_until(until, error, category, phase))


@command.command()
@with_phase
@typed.option("--reason", required=True, help="Why the phase is blocked.")
def block(phase: str | None, reason: str, **given: Any) -> None:
    """Mark a leaf and the sprint as blocked.

    Example: sprintlog phase block deploy --reason 'no access'
    """
    record("phase block", given, leaves.BlockPhase(reason, phase))


@command.command()
@with_phase
@REASON
def skip(phase: str | None, reason: str | None, **given: Any) -> None:
    """Skip a leaf, or every unfinished leaf of a step or phase.

    Example: sprintlog phase skip docs --reason 'nothing to write'
    """
    record("phase skip", given, leaves.SkipPhase(phase, reason))


@command.command()
@with_phase
@REASON
def retry(phase: str | None, reason: str | None, **given: Any) -> None:
    """Retry a failed or blocked leaf, or all such leaves of a step or phase.

    If a person retries a leaf, the retries of the leaf and its gate are available again. If
    the failure blocked the sprint, run `sprintlog sprint resume` first.

    Example: sprintlog phase retry build/step-0/implement
    """
    record("phase retry", given, leaves.RetryPhase(phase, reason))


@command.command()
@typed.argument("phase", metavar="PHASE/STEP/SUB-PHASE")
@REASON
@context.with_recording
def reopen(phase: str, reason: str | None, **given: Any) -> None:
    """Reset a completed or skipped leaf, step or phase to pending.

    If it precedes the current work, the pointer moves back to it.

    Example: sprintlog phase reopen setup --reason 'wrong branch'
    """
    record("phase reopen", given, leaves.ReopenPhase(phase, reason))
