"""A realistic night: a plan in a loop that measures itself, and stops for a person.

It succeeds, then tests are deleted and it rolls back, then it waits for a limit; a gate
fails, quality falls again, and before the morning a person is needed.
"""

from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from sprintlog.commands import (
    AddLearning,
    ApproveRequest,
    BeginRun,
    CaptureBaseline,
    Command,
    CompletePhase,
    CreateSprint,
    DeferRequest,
    EndRun,
    FinishRun,
    GateResult,
    GiveRecommendation,
    MeasureIteration,
    QueueRequests,
    RecordGate,
    RollBack,
    ScheduleRetry,
    StartIteration,
    StartPhase,
    StartSprint,
    SubmittedRequest,
    Verdict,
)
from sprintlog.engine.journal.parts import Learning
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sessions.events import SessionStarted, ToolCalled, TouchedFile
from sprintlog.engine.sprint.events import AgentRan, Budgets, InjectionPosition
from sprintlog.engine.sprint.state.times import parse, to_text
from sprintlog.projections.workspace import Workspace

SPRINT = "checkout"
BEGIN = "2026-01-15T21:00:00Z"
CLOCK_MS = 1_768_550_400_000
"""What the clock of the machine says while the night is recorded and looked at."""
BOT, LOOP, PERSON = "agent:claude", "runtime", "operator"
PLAN: dict[str, Any] = {
    "sprint-id": SPRINT,
    "retry": {"maxAttempts": 3, "backoffMs": [60_000]},
    "phases": [
        {"id": "setup", "prompt": "Read the code of the shop and make a branch"},
        {
            "id": "cart",
            "steps": [
                {"id": "totals", "prompt": "Add up the cart in whole cents",
                 "phases": [{"id": "write", "prompt": "Write the sums"},
                            {"id": "check", "prompt": "Try odd amounts and empty carts"}]},
                {"id": "coupons", "prompt": "Let people use a coupon",
                 "phases": [{"id": "write", "prompt": "Write the rules of coupons"},
                            {"id": "check", "prompt": "Try two coupons at once"}]},
            ],
        },
        {"id": "payment", "prompt": "Take cards, with the provider's test keys",
         "gate": {"script": "make test", "max-retries": 2,
                  "on-fail-prompt": "Repair what the tests say"}},
        {"id": "receipt", "prompt": "Send a receipt by mail"},
        {"id": "review", "prompt": "Read the whole change once more"},
    ],
}  # fmt: skip


class Turn(NamedTuple):
    """One iteration: the work, and its result."""

    phase: str
    begin: int
    """Minutes after the beginning of the night."""
    minutes: int
    tests: tuple[int, int]
    """How many there are, and how many pass."""
    coverage: float
    errors: int
    cost: float | None
    summary: str
    waited_from: int = 0
    """When it was begun first, where it had to wait for a limit."""


TURNS = (
    Turn("setup", 2, 9, (42, 40), 61.0, 3, 0.38, "branch checkout, the code is read"),
    Turn("cart/totals/write", 13, 22, (48, 47), 66.5, 2, 0.91, "sums in whole cents"),
    Turn("cart/totals/check", 37, 18, (57, 57), 72.0, 0, 0.64, "odd amounts are tried"),
    Turn("cart/coupons/write", 57, 26, (31, 30), 55.0, 4, 1.27, "rules of coupons"),
    Turn("cart/coupons/write", 88, 31, (63, 62), 74.5, 1, 1.12, "coupons, tests kept"),
    Turn(
        "cart/coupons/check",
        186,
        24,
        (71, 71),
        81.0,
        0,
        0.97,
        "two coupons at once",
        waited_from=122,
    ),
    Turn("payment", 214, 35, (74, 70), 79.0, 2, 1.58, "cards with test keys"),
    Turn("payment", 256, 28, (78, 78), 83.5, 0, 1.04, "the provider's answers"),
    Turn("receipt", 288, 33, (79, 71), 76.0, 6, None, "receipts by mail, in part"),
)
_NEEDED = "no mail server is known to the test machine"
_ASKED = "give SMTP_HOST to the tests, or let receipts be written to files there"
TESTS_DELETED, GATED, LAST = 4, 7, 9
"""Numbers of the iterations after which something else happened, too."""


class _Night:
    """The night being written."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._iteration = 0

    def at(self, minutes: float) -> str:
        """Return the time a number of minutes after the start."""
        return to_text(parse(BEGIN) + timedelta(minutes=minutes))

    def do(self, minutes: float, command: Command, actor: str = LOOP) -> None:
        """Handle a command."""
        self.workspace.handle(
            command, sprint_id=SPRINT, at=self.at(minutes), actor=actor,
            correlation_id="night",
        )  # fmt: skip

    def measured(self, minutes: float, turn: Turn) -> None:
        """Measure an iteration, and follow the advice."""
        self.do(minutes, MeasureIteration(_metrics(turn)))
        self.do(minutes, GiveRecommendation())

    def turn(self, turn: Turn) -> None:
        """Let an agent work for an iteration."""
        self._iteration += 1
        begin, end = turn.begin, turn.begin + turn.minutes
        self.do(turn.waited_from or begin, StartIteration(phase=turn.phase))
        if turn.waited_from:
            self.do(turn.waited_from, StartPhase(turn.phase, "sonnet"))
            why = "You have reached your usage limit; it resets at midnight"
            midnight, said_by = self.at(180), "resets at midnight"
            limit = ScheduleRetry(midnight, why, "usage-limit", said_by, turn.phase)
            self.do(turn.waited_from + 1, limit, BOT)
        self.do(begin, StartPhase(turn.phase, "sonnet"))
        usage = None
        if turn.cost is not None:
            given, said = int(turn.cost * 90_000), int(turn.cost * 6_500)
            usage = Usage(given, said, cost_usd=turn.cost, turns=9 + turn.minutes)
        ran = AgentRan(
            turn.phase, "completed", 0, duration_ms=turn.minutes * 60_000, usage=usage,
            iteration=self._iteration, agent="claude", model="sonnet",
            output=turn.summary, output_bytes=len(turn.summary),
        )  # fmt: skip
        verdict = Verdict("completed", turn.summary)
        if self._iteration == LAST:
            verdict = Verdict("needs-human", details=_ASKED, reason=_NEEDED)
        self.do(end, EndRun(ran, verdict), BOT)
        self.measured(end + 1, turn)


def _metrics(turn: Turn) -> dict[str, Any]:
    count_, passed = turn.tests
    return {
        "test_count": count_,
        "tests_passed": passed,
        "coverage_percentage": turn.coverage,
        "error_count": turn.errors,
        "build_status": "success",
    }


def night(folder: Path, *, clock_ms: int = CLOCK_MS) -> Workspace:
    """Return a workspace with the night in its log, recorded with any clock."""
    chance = count(1)
    workspace = Workspace.in_memory(
        folder, clock=lambda: clock_ms,
        entropy=lambda size: next(chance).to_bytes(size, "big"),
    )  # fmt: skip
    one = _Night(workspace)
    one.do(0, CreateSprint(plan=PLAN), PERSON)
    one.do(0, CaptureBaseline(_metrics(Turn("", 0, 0, (40, 38), 60.0, 4, None, ""))))
    budgets = Budgets(cost_usd=10.0, seconds=28_800)
    command = ("claude", "-p", "--output-format", "json")
    one.do(0, BeginRun("run-1", "build-7", 4711, BEGIN, "boot", command, budgets))
    one.do(0, StartSprint())
    for number, turn in enumerate(TURNS, start=1):
        one.turn(turn)
        _after(one, number, turn)
    one.do(324, FinishRun("run-1", "person", 24, _NEEDED))
    _remember(workspace, one)
    return workspace


def _after(one: _Night, number: int, turn: Turn) -> None:
    end = turn.begin + turn.minutes + 1
    if number == TESTS_DELETED:
        to = one.workspace.version_at(SPRINT, "iter:3")
        one.do(end + 1, RollBack(to, "iteration 4 deleted 26 tests of the cart"))
    if number == GATED:
        said = GateResult(
            2, duration_ms=41_000, output="FAILED tests/test_cards.py: 4 of 74"
        )
        one.do(end + 1, RecordGate(said, "payment"))
    if number == GATED + 1:
        passed = GateResult(0, duration_ms=43_500, output="78 passed")
        one.do(end + 1, RecordGate(passed, "payment"))
        one.do(end + 1, CompletePhase("payment", turn.summary))
    if number == 3:
        asked = (
            SubmittedRequest("Round half cents to even", "high", "bug"),
            SubmittedRequest("Say in the docs how coupons add up", "low", "docs"),
        )
        one.do(end, QueueRequests(asked), BOT)
        one.do(end + 1, ApproveRequest(
            "req-1", "it changes what people pay", InjectionPosition("end-of-workflow"),
        ), PERSON)  # fmt: skip
        why = "first the code"
        one.do(end + 1, DeferRequest("req-2", why, "end-of-sprint"), PERSON)
    if number == LAST:
        last = SubmittedRequest("Receipts: which mail server?", "high", "bug")
        one.do(end, QueueRequests((last,)), BOT)


def _remember(workspace: Workspace, one: _Night) -> None:
    """Write the learnings, and the records of a session's hooks."""
    for number, said in enumerate(
        ("Amounts are integers of cents everywhere; floats lose a cent in 3 of 1,000 carts",
         "make test-fast leaves the card tests out: run make test before a gate"),
        start=1,
    ):  # fmt: skip
        learning = Learning(
            id=f"learning-{number:04d}", type="codebase-pattern", content=said,
            source_prd_id=SPRINT, created_at=one.at(60 * number), still_valid=True,
        )  # fmt: skip
        workspace.handle(AddLearning(learning), at=one.at(60 * number), actor=BOT)
    calls = [SessionStarted("startup", "sonnet", "2.1.0")]
    events = [new_event(calls[0], at=one.at(3), actor=BOT)]
    for number in range(41):
        file = TouchedFile(
            f"shop/cart_{number % 4}.py", "changed", 4 + number % 7, number % 3
        )
        call = ToolCalled(
            "Edit" if number % 3 else "Bash", ok=number % 13 != 5, files=(file,)
        )
        events.append(new_event(call, at=one.at(4 + 7 * number), actor=BOT))
    found = [replace(event, correlation_id="night") for event in events]
    workspace.log.append("session/claude-7f3a9c", found, expect=Expect.NONE)
