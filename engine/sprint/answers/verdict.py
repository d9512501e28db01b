"""The verdict on an agent's run, from its exit status and its final text.

Only the final text is read here: a JSON object with a `status` must be the complete text or
its last line. A run counts as a success only if its success is certain: if the status is
unknown, or if the answer is truncated or missing, the outcome is unknown. A command that is
not an agent may print nothing. For a goal, the verdict also names the completed and open
steps.
"""

import re
from collections.abc import Callable
from signal import SIGINT

import msgspec

from ...masking import cut
from ...usage import Usage
from ..events.loop import Limit
from ..state.tree import Data
from ..state.words import COMPLETED, FAILED, NEEDS_HUMAN, UNKNOWN, USER_STOPPED
from . import limits
from .items import KEYS, OpenStep, SaidItems, read_said
from .limit_table import LOGIC, PERSON, TIMEOUT, VALIDATION, Sign

SILENT = "the agent ended without saying anything"
STOPPED = "the user stopped the agent"
CUT = "the agent's output ends before its end of turn"
_BY_INTERRUPT = (-SIGINT, 128 + SIGINT)
"""The exit codes of a command that was ended by a keyboard interrupt."""
SUMMARY_CHARS_MAX = 2_000
"""The maximum length of a summary; the full output is recorded separately."""

_WORDS = {
    **dict.fromkeys(("completed", "complete", "success"), COMPLETED),
    **dict.fromkeys(("failed", "failure", "error"), FAILED),
    **dict.fromkeys(("blocked", "needs-human"), NEEDS_HUMAN),
}
"""The statuses in an agent's answer, and their meanings."""


class Answer(msgspec.Struct, frozen=True):
    """The parts of an agent's output that sprintlog understands."""

    text: str
    """The agent's final text."""
    error: str | None = None
    """The reason for the failure, if the agent itself reports one."""
    usage: Usage | None = None
    """The usage that the agent reports."""
    is_cut: bool = False
    """Whether the output of a known agent ends before the agent's end of turn."""
    is_stopped: bool = False
    """Whether the user stopped the agent, according to its output."""
    unknown: int = 0
    """The number of output lines that were not understood."""
    refusal: limits.Refusal | None = None
    """A refusal reported in separate fields of the output."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a run, as one of `RUN_STATUSES`, and its reason."""

    status: str
    summary: str | None = None
    error: str | None = None
    category: str = LOGIC
    details: str | None = None
    usage: Usage | None = None
    reason: str | None = None
    """Why a person is needed; `error` is then the cause, if known."""
    said: SaidItems | None = None
    """The other items that the agent reported."""
    limit: Limit | None = None
    """The temporary limit that stopped the agent, which is not a failure."""


def judge(
    answer: Answer,
    *,
    errors: str = "",
    exit_code: int | None,
    timed_out: bool = False,
    unknown: str | None = None,
    read: Callable[[str], Verdict] | None = None,
    moment: limits.Moment | None = None,
) -> Verdict:
    """Return the verdict on a run; `exit_code` is negative for a signal, None if unknown.

    `unknown` states why the result of a finished run is unknown. A person then decides,
    since the work may be complete and another run costs money. `read` converts the final
    text of a successful run to a verdict. Without `moment`, the end of a limit cannot be
    computed.
    """
    if unknown is not None:
        return Verdict(NEEDS_HUMAN, reason=unknown, usage=answer.usage)
    verdict = _judged(
        *(answer, errors, exit_code), timed_out=timed_out, read=read, moment=moment
    )
    return msgspec.structs.replace(verdict, usage=answer.usage)


def _judged(
    answer: Answer,
    errors: str,
    exit_code: int | None,
    *,
    timed_out: bool,
    read: Callable[[str], Verdict] | None,
    moment: limits.Moment | None,
) -> Verdict:
    if timed_out:
        return Verdict(FAILED, error="the time limit was reached", category=TIMEOUT)
    if answer.is_stopped or exit_code in _BY_INTERRUPT:
        return Verdict(USER_STOPPED, error=STOPPED)
    if exit_code is None:
        return invalid(_exit_text(None, errors.strip() or answer.text.strip()))
    error = None
    if answer.error is not None:
        error = said = answer.error
    elif exit_code != 0:
        said = limits.complaint(errors, answer.text)
        error = _exit_text(exit_code, errors.strip() or answer.text.strip())
    elif limits.is_notice(answer.text):
        error = said = answer.text
    if error is not None:
        sign = limits.sign_of(said, answer.refusal)
        if sign is not None and sign.kind == PERSON:
            return Verdict(NEEDS_HUMAN, error=short(error), reason=short(error))
        return Verdict(
            FAILED,
            error=short(error),
            category=_category(sign),
            limit=limits.limit_of(sign, said, answer.refusal, moment),
        )
    return invalid(CUT) if answer.is_cut else (read or of_text)(answer.text)


def categorise(error: str) -> str:
    """Return the failure category that the text of an error indicates."""
    return _category(limits.by_words(error))


def _category(sign: Sign | None) -> str:
    return LOGIC if sign is None else sign.category


def of_text(text: str) -> Verdict:
    """Return the verdict on a successful run's final text."""
    own = last_object(text, lambda found: "status" in found)
    if own is None:
        return Verdict(COMPLETED, summary=short(text)) if text.strip() else invalid(SILENT)
    if _WORDS.get(_text(own.get("status"))) == COMPLETED:
        summary = _text(own.get("summary"))
        return Verdict(COMPLETED, summary=short(summary) if summary else None)
    return no_success(own)


def of_command(text: str) -> Verdict:
    """Return the verdict on a plain command's output, which may be empty."""
    return of_text(text) if text.strip() else Verdict(COMPLETED)


def no_success(own: Data) -> Verdict:
    """Return the verdict that an agent's answer object states for an unsuccessful run."""
    word = _text(own.get("status"))
    if (status := _WORDS.get(word)) not in (FAILED, NEEDS_HUMAN):
        return invalid(f"the agent's status {word[:40]!r} is unknown")
    said = _text(own.get("error"))
    error = said or _text(own.get("summary")) or "the agent gave no reason"
    if status == FAILED:
        return Verdict(FAILED, error=short(error), category=categorise(error))
    needed = own.get("human-needed") or own.get("humanNeeded") or own
    reason = _text(needed.get("reason")) if isinstance(needed, dict) else _text(needed)
    details = _text(needed.get("details")) if isinstance(needed, dict) else ""
    return Verdict(
        NEEDS_HUMAN,
        error=short(said) or None,
        details=details or None,
        reason=short(reason or error),
    )


def said_beside(text: str, *, told: str = "") -> SaidItems | None:
    """Return the items in an agent's final text that do not affect the verdict, or None.

    An object that only repeats lines of the prompt is ignored.
    """
    own = last_object(
        text, lambda found: "status" in found or not KEYS.isdisjoint(found), told=told
    )
    said = None if own is None else read_said(own)
    return None if said == SaidItems() else said


def invalid(error: str) -> Verdict:
    """Return an unknown outcome for an answer that cannot be understood."""
    return Verdict(UNKNOWN, error=error, category=VALIDATION)


def last_object(text: str, fits: Callable[[Data], bool], *, told: str = "") -> Data | None:
    """Return the matching JSON object if it is the full text or its last line, or None.

    A code fence around the object is ignored, as is an object that only repeats the prompt.
    """
    stripped = text.strip().removesuffix("```").rstrip()
    candidates = [stripped, stripped.rpartition("\n")[2]]
    if "```json" in stripped:
        candidates.append(stripped.rpartition("```json")[2])
    for candidate in candidates:
        found = _object(candidate) if candidate.lstrip().startswith("{") else None
        if found is not None and fits(found) and not repeats(candidate, told):
            return found
    return None


def repeats(piece: str, told: str) -> bool:
    """Return whether part of an answer only repeats lines of the prompt."""
    lines, others = (
        "\n".join(line.strip() for line in text.strip().split("\n"))
        for text in (piece, told)
    )
    return f"\n{lines}\n" in f"\n{others}\n"


def _object(text: str) -> Data | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _exit_text(exit_code: int | None, said: str) -> str:
    how = "ended in an unknown way" if exit_code is None else f"exit code {exit_code}"
    if exit_code is not None and exit_code < 0:
        how = f"ended by signal {-exit_code}"
    last = said.rpartition("\n")[2].strip()
    return f"{how}: {last}" if last else how


def short(text: str) -> str:
    """Return the text, truncated to the maximum length of a summary."""
    text = text.strip()
    if len(text) <= SUMMARY_CHARS_MAX:
        return text
    return f"{cut(text, SUMMARY_CHARS_MAX - 1).rstrip()}…"


CONTINUE, GOAL_COMPLETE = "continue", "goal-complete"
MARKER = re.compile(r"(?:(.*[.!?])[ \t]+)?(RALPH_COMPLETE(?::[ \t]*(.*))?)")
"""The last line of a plain answer that states that the goal is reached (LOOP-012).

The text must be at the start of the line or after a sentence: a mention inside a
sentence, or a denial, does not count.
"""
_GOAL_SUMMARY = "goalCompleteSummary"
"""A field that takes precedence over `summary` if the goal is reached."""


class Turn(Verdict, frozen=True, omit_defaults=True):
    """The outcome of an iteration for a goal."""

    completed: tuple[str, ...] = ()
    pending: tuple[OpenStep, ...] = ()
    is_goal: bool = False
    """Whether the agent states that the goal is reached."""


def read_turn(text: str, *, told: str) -> Verdict:
    """Return the verdict on the final text of a successful iteration for a goal.

    Lines repeated from the prompt, the goal or the steps are ignored.
    """
    own = last_object(text, lambda found: "status" in found, told=told)
    if own is None:
        return _plain(text, told)
    if own["status"] not in (CONTINUE, GOAL_COMPLETE):
        return no_success(own)
    said = read_said(own)
    is_goal = own["status"] == GOAL_COMPLETE
    summaries = (own.get(name) for name in (*((_GOAL_SUMMARY,) * is_goal), "summary"))
    summary = next((s for s in summaries if isinstance(s, str) and s.strip()), None)
    return Turn(
        COMPLETED,
        summary=summary and short(summary),
        completed=said.completed,
        pending=said.pending,
        is_goal=is_goal,
    )


def _plain(text: str, told: str) -> Verdict:
    if not text.strip():
        return invalid("the agent ended without saying anything")
    before, _, last = text.rstrip().rpartition("\n")
    found = MARKER.fullmatch(last)
    if found is None or repeats(last, told) or repeats(found[2], told):
        return Turn(COMPLETED, summary=short(text))
    words = found[3] or f"{before}\n{found[1] or ''}"
    return Turn(COMPLETED, summary=short(words) or None, is_goal=True)
