"""Settling of a session: its turns become iterations, which are measured if possible."""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from sprintlog.engine.adapters.hooks.transcript_calls import READERS
from sprintlog.engine.errors import RefusedError, SprintlogError
from sprintlog.engine.judging.loop_rules import MeasureRules
from sprintlog.engine.service import settle
from sprintlog.engine.service.agent_sessions import at_work, reconcile
from sprintlog.engine.service.agent_sessions.reconcile import keep_copy
from sprintlog.engine.service.port import Envelope
from sprintlog.engine.service.reviews import decide_claim
from sprintlog.engine.service.work_tree.capturer import Capturer, measure_by_rules, order_of
from sprintlog.engine.sessions.events import REFUSED
from sprintlog.engine.sessions.turns import SessionTurn
from sprintlog.engine.sprint.iterations.decisions import RetractMeasurement
from sprintlog.engine.sprint.iterations.follow_up import loop_rules
from sprintlog.engine.sprint.iterations.measurement import Measuring
from sprintlog.engine.sprint.state.completion import refusal_of
from sprintlog.engine.sprint.state.words import IN_PROGRESS
from sprintlog.projections.workspace import Workspace

from .. import settings
from ..context import open_workspace
from ..intake.transcript import read_transcript
from ..iterations.loop_rules import measure_rules, measured_by_file

QUIET, TRIES = 3, 15
"""How often a transcript without the agent's answer is read again, at intervals of 0.2 s,
while it does not grow and in total."""
T = TypeVar("T")
DECISIONS = {**dict.fromkeys(("claude", "codex", "copilot"), "block"), "gemini": "deny"}
"""The decision by which each agent continues its turn."""


def settle_turn(
    stream: str,
    *,
    ends: bool = True,
    reported: int | None = None,
    is_over: bool = False,
    turns_max: int = settle.TURNS,
    tell: Callable[[str], None],
) -> bytes:
    """Bring a session's iterations up to date; return the answer to the agent, if any.

    For the other parameters, see `settle` and `Settling`.

    An iteration whose end is new is measured as specified in a trusted settings file, but
    not by rules in the log, which may come with a repository. The answer makes an agent
    continue whose claim was refused.
    """
    with open_workspace() as workspace:
        rules = _trusted(
            lambda: measure_rules(measured_by_file(), root=workspace.location.root)
        )
        commands = (*rules.runs, *rules.builds) if rules else ()
        named = os.environ.get("SPRINTLOG_SPRINT")
        means = settle.Settling(partial(_read, workspace), tell, commands, named, turns_max)
        with workspace.log.locks.hold(at_work.LOCK):
            settled = settle.settle(
                workspace, stream, means, ends=ends, reported=reported, is_over=is_over
            )
        if settled is None or settled.is_new:
            keep_copy(workspace, stream)
        if settled is None or not settled.is_new:
            return b""
        _measure(workspace, settled, None if settled.is_late else rules)
        workspace.refresh(settled.sprint)
        return _answer(workspace, settled, stream.partition("/")[2].partition("-")[0])


def _trusted(read: Callable[[], T | None]) -> T | None:
    """Return values of the settings file; None if the file is not trusted."""
    try:
        return read()
    except SprintlogError:
        return None


def _read(workspace: Workspace, agent: str, turn: SessionTurn) -> settle.TurnReading | None:
    """Read the transcript of a turn, in the agent's own folder."""
    if agent not in READERS:
        return None
    wanted, sizes = turn.end.sha256 if turn.end else None, list[int]()
    root = workspace.location.root
    try:
        file = reconcile.own_transcript(agent, turn.transcript, os.environ, root=root)
        while True:
            sizes.append(reconcile.check_readable(file).st_size)
            if sizes[-1] > reconcile.READ_BYTES_MAX:
                return None
            found = read_transcript(file)
            said = reconcile.digest_of_text(found.answer.text)
            is_quiet = len(sizes) > QUIET and len({*sizes[-QUIET:]}) == 1
            if wanted in (None, said) or is_quiet or len(sizes) > TRIES:
                return settle.TurnReading(found.answer, found.activity, found.ran()[0])
            time.sleep(0.2)
    except SprintlogError:
        # `session reconcile` reports transcripts that cannot be read.
        return None


class _TurnCapturer(Capturer):
    """Measures a turn, unless an agent goes on to change files meanwhile."""

    def add_to(self, command: Measuring) -> Measuring:
        """Return the command with the measurement."""
        found = super().add_to(command)
        others = at_work.others_at_work(self._workspace.location)
        if getattr(found, "altered", ()) and any(x.has_called for x in others):
            raise RefusedError("an agent changed files while the iteration was measured")
        return found


def _measure(
    workspace: Workspace, settled: settle.Settled, rules: MeasureRules | None
) -> None:
    """Measure an iteration, and decide on its claim."""
    envelope: Envelope = {"actor": settle.ACTOR, "observed": True, "is_loop": True}
    sprint_id, number = settled.sprint, settled.number
    if workspace.sprint(sprint_id).knowledge.tracker.has_measured(number):
        retract = RetractMeasurement(number, "the turn went on after the measurement")
        workspace.handle(retract, sprint_id=sprint_id, **envelope)
    if rules is not None:
        capturer = _TurnCapturer(
            workspace,
            order_of(rules, workspace.sprint(sprint_id)),
            folder=workspace.location.root,
            environment=os.environ,
            pass_on=tuple(_trusted(lambda: settings.setting("measure.environment")) or ()),
            sprint_id=sprint_id,
            masks=True,
        )
        words = f"the measure of iteration {number}"
        with at_work.working(workspace.location, words, now=workspace.now()):
            measure_by_rules(workspace, sprint_id, number, capturer, envelope=envelope)
    review = loop_rules(workspace.sprint(sprint_id)).review
    if review in (None, _trusted(lambda: settings.setting("agent.review"))):
        decide_claim(workspace, sprint_id, tell=lambda said: None, envelope=envelope)


def _answer(workspace: Workspace, settled: settle.Settled, agent: str) -> bytes:
    """Return the answer to an agent whose claim was refused, or nothing."""
    plan = workspace.sprint(settled.sprint).plan
    claim, why = plan.last.claim, refusal_of(plan)
    is_own = claim is not None and claim.iteration == settled.number
    if why is None or not is_own or plan.status != IN_PROGRESS or agent not in DECISIONS:
        return b""
    how = "continue, and do not claim it again before this is resolved"
    said = {"decision": DECISIONS[agent], "reason": f"{REFUSED}{why}; {how}"}
    return msgspec.json.encode(said)
