"""The events of the loop: runs, iterations, budgets, and agent runs."""

import msgspec

from ...log.event import AsDecision, Event, Kind, KnowledgeEvent, Reach, Subject, events_of
from ...usage import ModelCall as ModelCall
from ...usage import Usage


class GitState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a Git repository: its commit and whether it has changes."""

    head: str | None = None
    """The commit; None before the first one."""
    is_dirty: bool | None = None
    """Whether the work tree differs from it; None where that could not be found out."""


class IterationStarted(Event, frozen=True):
    """A loop iteration started; its number is never reused."""

    stays = ("phase", "before", "work_tree", "overlapping")
    subject = Subject("iteration", ("phase", "number"), "phase")
    reach = Reach.TOP
    ends = ("iteration-failed",)
    number: int
    max_iterations: int | None = None
    phase: str | None = None
    """The leaf that it is begun for; all attempts on it belong to the iteration."""
    beyond_limit: bool = False
    """True when it was begun on purpose although no more were allowed."""
    is_wrapped: bool = False
    """True when somebody else's loop runs it, of whose steps we know nothing."""
    before: str | None = None
    """The snapshot of the files with which it began; None if they were not kept."""
    work_tree: str | None = None
    """The id of the work tree in which it began."""
    overlapping: tuple[str, ...] = ()
    """The iterations on which agents worked in that tree when it began: `N`, or `SPRINT:N`
    of another sprint."""


class IterationsLimited(Event, frozen=True):
    """The maximum number of iterations was set."""

    subject = Subject("loop")
    reach = Reach.TOP
    as_decision = AsDecision("goal", ("max_iterations",))
    max_iterations: int
    """0 for no limit."""


class IterationEnded(Event, frozen=True):
    """A loop iteration ended; starting the next iteration also ends the current one."""

    stays = ("git",)
    subject = Subject("iteration", ("number",))
    reach = Reach.TOP
    ends = ("iteration-failed",)
    number: int
    summary: str | None = None
    output_sha256: str | None = None
    """sha256 of the agent's output by which it was ended."""
    git: GitState | None = None
    """The state of the repository at that time, without the files that sprintlog writes."""


class Limit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A temporary limit that prevented an agent from working."""

    waits_for: str
    """`usage-limit`, `overload` or `network`."""
    until: str | None = None
    """When it ends, as far as anybody said."""
    said_by: str | None = None
    """The text or the field that stated the end."""


class AgentRan(KnowledgeEvent, frozen=True):
    """An agent's command ended or timed out."""

    stays = (
        *("phase", "status", "agent", "agent_version", "models", "sessions", "error_kind"),
        *("git_before", "git_after", "limit.waits_for", "limit.until", "model", "found_in"),
    )
    subject = Subject("agent", ("phase",), "phase")
    is_quiet = True
    phase: str
    """The address of the phase it worked on; empty for the goal."""
    status: str
    """How it ended: completed, failed, needs-human, stopped (by the user), or unknown if
    its output does not contain the agent's end of turn or was not understood."""
    exit_code: int | None = None
    """Minus the number of the signal that ended it."""
    timed_out: bool = False
    duration_ms: int | None = None
    is_repair: bool = False
    """True when it was to repair what a gate found."""
    output: str = ""
    """Its standard output; of long output only the head and the tail."""
    output_bytes: int = 0
    """How long all of the output was."""
    output_sha256: str | None = None
    """sha256 of all of the output's bytes, in hexadecimal."""
    errors: str = ""
    """Its standard error, shortened in the same way."""
    usage: Usage | None = None
    """Tokens, cost and turns, as far as the agent says."""
    iteration: int | None = None
    """The number of its iteration; null outside an iteration."""
    command: str | None = None
    """The command that was run, for a run of another loop or of the fallback."""
    agent: str | None = None
    """Whose output it is: antigravity, claude, codex, copilot, copilot-chat, cursor,
    droid, gemini, opencode or pi."""
    agent_version: str | None = None
    """The version of the agent's program, if its output states one."""
    models: tuple[str, ...] = ()
    """The models that it asked, by the agent's own names."""
    sessions: tuple[str, ...] = ()
    """The agent's own sessions; the first ones, where there are many."""
    tool_calls: int | None = None
    """How many tools it called, as far as its output says."""
    unknown_lines: int = 0
    """How many lines of its output were not understood."""
    lines: int = 0
    """How many lines the output had."""
    error: str | None = None
    """Why it failed, where no other event says it."""
    error_kind: str | None = None
    """What kind of failure that is: rate-limit, network, timeout, validation, logic."""
    git_before: GitState | None = None
    """The state of the repository at the start."""
    git_after: GitState | None = None
    """The state of the repository at the end."""
    limit: Limit | None = None
    """The limit to wait for, if the run was rate-limited rather than failed."""
    model: str | None = None
    """The model selected for the agent."""
    is_priced: bool = False
    """Whether its cost is computed from tokens by the price that the run was given."""
    found_in: str | None = None
    """`transcript` if only the agent's transcript reports the run."""
    is_rest: bool = False
    """Whether it contains only figures beyond those of a run recorded earlier."""
    calls: tuple[ModelCall, ...] = ()
    """The calls of models in its transcript that are new or known better than before."""
    tools: tuple[str, ...] = ()
    """The new calls of tools in its transcript, each as the key of a model call is made."""
    settled: dict[str, int] = msgspec.field(default_factory=dict)
    """By figure: of how many runs recorded before it is fully known with this one."""
    last_at: str | None = None
    """The time of the last line in its transcript that decides how it ended."""
    prompt_sha256: str | None = None
    """sha256 of the prompt that it was handed, in hexadecimal."""
    is_hung: bool = False
    """Whether it was ended after its complete result, since it did nothing more."""
    is_fallback: bool = False
    """Whether the fallback worked, since a limit prevented the loop's own agent."""

    @property
    def outcome(self) -> str:
        """Return the status, `limit`, or `hung` if a completed run had to be killed."""
        if self.limit is not None:
            return "limit"
        return "hung" if self.is_hung and self.status == "completed" else self.status


class Took(msgspec.Struct, frozen=True, omit_defaults=True):
    """The resources that a run used; unknown amounts are absent, never 0."""

    iterations: int = 0
    """How many began."""
    runs: int = 0
    """How often an agent was run to its end."""
    duration_ms: int = 0
    """By the clock on the wall."""
    input_tokens: int | None = None
    """New tokens that models were given."""
    output_tokens: int | None = None
    """Tokens that they wrote."""
    cache_creation_tokens: int | None = None
    """Tokens that were put into a cache."""
    cost_usd: float | None = None
    """What agents said that it cost, in US dollars."""
    at_least: tuple[str, ...] | None = None
    """The figures that are lower bounds; absent if an older version recorded it."""
    unknown: int = 0
    """The number of agents' runs whose usage is not fully known."""


class Budgets(msgspec.Struct, frozen=True, omit_defaults=True):
    """The spending limits of a run or a sprint; an absent limit means unlimited."""

    iterations: int | None = None
    """How many may begin."""
    cost_usd: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Input, cache creation and output; reads from a cache are not counted."""
    seconds: int | None = None
    """By the clock on the wall."""
    failures: int | None = None
    """How many runs of agents may fail in a row."""


class Price(msgspec.Struct, frozen=True, omit_defaults=True):
    """The price of a million tokens, in US dollars."""

    given: float
    """Those that a model is given."""
    written: float
    """Those that it writes."""
    cached: float | None = None
    """The price of tokens read from a cache; by default that of input tokens."""


class AboutRun(KnowledgeEvent, frozen=True):
    """An event about a run of the loop; rollbacks do not affect it."""

    subject = Subject("run")
    is_quiet = True


class RunStarted(AboutRun, frozen=True):
    """A process started to run the sprint's loop."""

    stays = ("run", "since", "host", "process_started", "boot_id")
    only_caused = "`sprintlog run` records it before it does anything"
    run: str
    """Names this run."""
    since: str
    """When it began."""
    host: str
    """The machine, by its own name."""
    pid: int
    """The process that drives it, and will record its end."""
    process_started: str
    """The start time of that process, in the operating system's notation."""
    boot_id: str
    """Which start of the machine that was."""
    command: tuple[str, ...] = ()
    """The command that prompts are passed to."""
    budgets: Budgets = Budgets()
    """What this run may spend."""
    price: Price | None = None
    """What tokens cost where its agent does not say it."""
    options: tuple[str, ...] = ()
    """Further options of the run that are not rules, such as `--rest` and `0`."""
    fallback: str | None = None
    """The command that works while a limit prevents the other one."""


class RunEnded(AboutRun, frozen=True):
    """A run ended, or its process was found to be gone."""

    stays = ("run", "because", "last_seen")
    only_caused = "`sprintlog run` records it on its way out"
    as_decision = AsDecision("run", ("because", "why"), ("exit_code",))
    run: str
    """Which run it was."""
    because: str
    """`done`, what stopped it (limit, breakpoint, paused, blocked, person, budget, judge),
    `wait`, `error`, `signal`, or `lost` for one that was killed."""
    exit_code: int | None = None
    """Null if the end was not observed."""
    why: str | None = None
    """The reason of a stop, the error, or the signal."""
    spent: Took = Took()
    """The resources used by the run and its agents."""
    last_seen: str | None = None
    """Of one that was lost: the time of its last event."""
    cut_short: bool = False
    """Whether an agent was running when the run ended; its usage is unknown."""


class BudgetsSet(Event, frozen=True):
    """The budgets of the sprint were set."""

    kind = Kind.CONTROL
    subject = Subject("budgets")
    reach = Reach.NOTHING
    as_decision = AsDecision("rules", ("budgets",))
    budgets: Budgets
    """All budgets from here on, for all runs together."""


class BudgetWarned(AboutRun, frozen=True):
    """Most of a budget was spent; this is recorded once for each budget."""

    stays = ("budget", "of")
    only_caused = "`sprintlog run` records it at 80 % of a budget"
    budget: str
    """`iterations`, `cost`, `tokens`, `time` or `failures`."""
    of: str
    """`run` or `sprint`."""
    spent: float
    """In US dollars, tokens, seconds, or how many."""
    limit: float
    """In the same unit."""


LOOP_EVENTS = events_of(__name__)
