"""The events of the loop: runs, iterations, budgets, and agent runs."""

import msgspec

from ...log.event import AsDecision, Event, Kind, KnowledgeEvent, Reach, Subject, events_of
from ...usage import ModelCall as ModelCall
from ...usage import Usage


class GitState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a Git repository: its commit and whether it has changes."""

    head: str | None = None
    """The commit; null before the first commit."""
    is_dirty: bool | None = None
    """Whether the work tree differs from the commit; null if unknown."""


class IterationStarted(Event, frozen=True):
    """A loop iteration started; its number is never reused."""

    stays = ("phase", "before", "work_tree", "overlapping", "session")
    subject = Subject("iteration", ("phase", "number"), "phase")
    reach = Reach.TOP
    ends = ("iteration-failed",)
    number: int
    max_iterations: int | None = None
    phase: str | None = None
    """The leaf that the iteration is for; all attempts at it belong to the iteration."""
    beyond_limit: bool = False
    """Whether the iteration was deliberately started beyond the limit."""
    is_wrapped: bool = False
    """Whether another loop runs the iteration, so its steps are unknown."""
    before: str | None = None
    """The snapshot of the files at the start; null if there is none."""
    work_tree: str | None = None
    """The id of the work tree in which the iteration started."""
    overlapping: tuple[str, ...] = ()
    """The iterations on which agents were already working in that work tree: `N`, or
    `SPRINT:N` for another sprint."""
    session: str | None = None
    """The agent session, `AGENT-ID`, of which the iteration is a turn; null for an
    iteration of a loop. Limits and budgets count only iterations of loops."""


class IterationsLimited(Event, frozen=True):
    """The maximum number of iterations was set."""

    subject = Subject("loop")
    reach = Reach.TOP
    as_decision = AsDecision("goal", ("max_iterations",))
    max_iterations: int
    """The maximum number of iterations; 0 for no limit."""


class IterationEnded(Event, frozen=True):
    """A loop iteration ended; starting the next iteration also ends the current one."""

    stays = ("git",)
    subject = Subject("iteration", ("number",))
    reach = Reach.TOP
    ends = ("iteration-failed",)
    number: int
    summary: str | None = None
    output_sha256: str | None = None
    """The SHA-256 of the output of the agent that ended the iteration."""
    git: GitState | None = None
    """The state of the repository at the end of the iteration, except sprintlog's files."""


class Limit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A temporary limit that prevented an agent from working."""

    waits_for: str
    """`usage-limit`, `overload` or `network`."""
    until: str | None = None
    """The time at which the limit ends, if it was stated."""
    said_by: str | None = None
    """The text or the field that stated the end."""


class TurnFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The start and the parts of a turn of an agent session."""

    session: str
    """The session: `AGENT-ID`."""
    command: str | None = None
    """The command of the prompt, such as `/loop`."""
    how: str | None = None
    """How the session started, if this is its first turn: `startup`, `resume` ..."""
    subagents: int = 0
    """The number of subagents that ended during the turn."""
    compactions: int = 0
    """How often the agent's context was replaced by a summary."""

    @property
    def words(self) -> str:
        """Return the mark of the turn's iteration: `session`, with its special features."""
        said = [self.command] if self.command else []
        said += [f"after {self.how}"] if self.how not in (None, "startup", "new") else []
        for count, noun in ((self.subagents, "subagent"), (self.compactions, "compaction")):
            said += [f"{count} {noun}{'' if count == 1 else 's'}"] if count else []
        return f"session ({', '.join(said)})" if said else "session"


class AgentRan(KnowledgeEvent, frozen=True):
    """An agent's command ended or timed out."""

    stays = (
        *("phase", "status", "agent", "agent_version", "models", "sessions", "error_kind"),
        *("git_before", "git_after", "limit.waits_for", "limit.until", "model", "found_in"),
        *("turn.session", "turn.command", "turn.how", "interrupted_by"),
    )
    subject = Subject("agent", ("phase",), "phase")
    is_quiet = True
    phase: str
    """The address of the phase on which the agent worked; empty for work on the goal."""
    status: str
    """The outcome: completed, failed, needs-human, stopped (by the user), or unknown if the
    output lacks the agent's end of turn or was not understood."""
    exit_code: int | None = None
    """The exit code; minus the signal's number if a signal ended the command."""
    timed_out: bool = False
    duration_ms: int | None = None
    is_repair: bool = False
    """Whether the purpose of the run was to fix the findings of a gate."""
    output: str = ""
    """The standard output; only its head and tail if it is long."""
    output_bytes: int = 0
    """The size of the full output in bytes."""
    output_sha256: str | None = None
    """The SHA-256 of the full output, in hexadecimal."""
    errors: str = ""
    """The standard error, shortened in the same way."""
    usage: Usage | None = None
    """The tokens, cost and turns that the agent reports."""
    iteration: int | None = None
    """The number of the iteration; null outside an iteration."""
    command: str | None = None
    """The command, for a run in another loop or of the fallback."""
    agent: str | None = None
    """The agent that wrote the output: antigravity, claude, codex, copilot, copilot-chat,
    cursor, droid, gemini, opencode or pi."""
    agent_version: str | None = None
    """The version of the agent's program, if the output states it."""
    models: tuple[str, ...] = ()
    """The models that the agent used, as named by the agent."""
    sessions: tuple[str, ...] = ()
    """The ids of the agent's sessions; only the first ones if there are many."""
    tool_calls: int | None = None
    """The number of tool calls, if the output states it."""
    unknown_lines: int = 0
    """The number of output lines that were not understood."""
    lines: int = 0
    """The number of output lines."""
    error: str | None = None
    """Why the run failed, unless another event states it."""
    error_kind: str | None = None
    """The kind of failure: rate-limit, network, timeout, validation or logic."""
    git_before: GitState | None = None
    """The state of the repository at the start."""
    git_after: GitState | None = None
    """The state of the repository at the end."""
    limit: Limit | None = None
    """The limit to wait for, if the run was rate-limited rather than failed."""
    model: str | None = None
    """The model selected for the agent."""
    is_priced: bool = False
    """Whether the cost was computed from the tokens and the run's price."""
    found_in: str | None = None
    """`transcript` if only the agent's transcript reports the run."""
    is_rest: bool = False
    """Whether the event contains only figures missing from an earlier record of the run."""
    calls: tuple[ModelCall, ...] = ()
    """The model calls in the transcript that are new or now known in more detail."""
    tools: tuple[str, ...] = ()
    """The keys of the new tool calls in the transcript, formed like model call keys."""
    settled: dict[str, int] = msgspec.field(default_factory=dict)
    """For each figure, the number of earlier runs for which it is now fully known."""
    last_at: str | None = None
    """The time of the last transcript line that determines the outcome."""
    prompt_sha256: str | None = None
    """The SHA-256 of the prompt passed to the agent, in hexadecimal."""
    is_hung: bool = False
    """Whether the agent was killed after its complete result because it did not exit."""
    interrupted_by: str | None = None
    """The id of the urgent note that ended the run."""
    is_fallback: bool = False
    """Whether the fallback did the work because a limit blocked the loop's own agent."""
    changed_files: bool | None = None
    """Whether files of the work tree changed during the run, except ignored files and
    sprintlog's own; null if unknown."""
    turn: TurnFacts | None = None
    """The start and the parts of a turn, for a turn of a session that no loop started."""

    @property
    def outcome(self) -> str:
        """Return how the run ended: as a status, `limit` or `hung`.

        A completed run that had to be killed is `hung`.
        """
        if self.limit is not None:
            return "limit"
        return "hung" if self.is_hung and self.status == "completed" else self.status


class Took(msgspec.Struct, frozen=True, omit_defaults=True):
    """The resources that a run used; unknown amounts are absent, never 0."""

    iterations: int = 0
    """The number of iterations that started."""
    runs: int = 0
    """The number of agent runs that ended."""
    duration_ms: int = 0
    """The elapsed wall-clock time in milliseconds."""
    input_tokens: int | None = None
    """New input tokens."""
    output_tokens: int | None = None
    """Output tokens."""
    cache_creation_tokens: int | None = None
    """Tokens written to a cache."""
    cost_usd: float | None = None
    """The cost that agents reported, in US dollars."""
    at_least: tuple[str, ...] | None = None
    """The figures that are lower bounds; absent in events from older versions."""
    unknown: int = 0
    """The number of agent runs whose usage is not fully known."""


class Budgets(msgspec.Struct, frozen=True, omit_defaults=True):
    """The spending limits of a run or a sprint; an absent limit means unlimited."""

    iterations: int | None = None
    """The maximum number of iterations that may start."""
    cost_usd: float | None = None
    """The maximum cost in US dollars."""
    tokens: int | None = None
    """The maximum number of input, cache-creation and output tokens; cache reads are not
    counted."""
    seconds: int | None = None
    """The maximum wall-clock time in seconds."""
    failures: int | None = None
    """The maximum number of consecutive failures of agent runs."""


class Price(msgspec.Struct, frozen=True, omit_defaults=True):
    """The prices of a million tokens of each kind, in US dollars."""

    given: float
    """The price of input tokens."""
    written: float
    """The price of output tokens."""
    cached: float | None = None
    """The price of tokens read from a cache; defaults to the price of input tokens."""


class AboutRun(KnowledgeEvent, frozen=True):
    """An event about a run of the loop; rollbacks do not affect it."""

    subject = Subject("run")
    is_quiet = True


class RunStarted(AboutRun, frozen=True):
    """A process started to run the sprint's loop."""

    stays = ("run", "since", "host", "process_started", "boot_id")
    only_caused = "`sprintlog run` records it before it does anything"
    run: str
    """The id of this run."""
    since: str
    """The time at which the run started."""
    host: str
    """The host name of the machine."""
    pid: int
    """The id of the process that runs the loop and will record its end."""
    process_started: str
    """The start time of that process, in the operating system's notation."""
    boot_id: str
    """The machine's boot id."""
    command: tuple[str, ...] = ()
    """The command that receives the prompts."""
    budgets: Budgets = Budgets()
    """The budgets of this run."""
    price: Price | None = None
    """The price of tokens, used if the agent does not report its cost."""
    options: tuple[str, ...] = ()
    """Further options of the run that are not rules, such as `--rest` and `0`."""
    fallback: str | None = None
    """The command used while a limit blocks the main command."""


class RunEnded(AboutRun, frozen=True):
    """A run ended, or its process was found to be gone."""

    stays = ("run", "because", "last_seen")
    only_caused = "`sprintlog run` records it on its way out"
    as_decision = AsDecision("run", ("because", "why"), ("exit_code",))
    run: str
    """The id of the run."""
    because: str
    """`done`, the reason for a stop (limit, breakpoint, paused, blocked, person, budget,
    judge), `wait`, `error`, `signal`, or `lost` for a run that was killed."""
    exit_code: int | None = None
    """The exit code; null if the end was not observed."""
    why: str | None = None
    """The reason for a stop, the error, or the signal."""
    spent: Took = Took()
    """The resources used by the run and its agents."""
    last_seen: str | None = None
    """For a lost run, the time of its last event."""
    cut_short: bool = False
    """Whether an agent was running when the run ended; its usage is unknown."""


class BudgetsSet(Event, frozen=True):
    """The budgets of the sprint were set."""

    kind = Kind.CONTROL
    subject = Subject("budgets")
    reach = Reach.NOTHING
    as_decision = AsDecision("rules", ("budgets",))
    budgets: Budgets
    """The budgets that apply from now on to all runs together."""


class BudgetWarned(AboutRun, frozen=True):
    """Most of a budget was spent; this is recorded once for each budget."""

    stays = ("budget", "of")
    only_caused = "`sprintlog run` records it at 80 % of a budget"
    budget: str
    """`iterations`, `cost`, `tokens`, `time` or `failures`."""
    of: str
    """`run` or `sprint`."""
    spent: float
    """The amount spent: US dollars, tokens, seconds, or a count."""
    limit: float
    """The limit, in the same unit."""


LOOP_EVENTS = events_of(__name__)
