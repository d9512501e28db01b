"""What an agent's run means: from its exit code and its words to a verdict.

What it printed is decoded elsewhere. In its words a JSON object with a `status` of its
own is understood, as the whole text or as its last line. Nothing but a plain success
counts as one: an unknown word, an answer that is cut off and silence are failures.
"""

import re
from collections.abc import Callable

import msgspec

from ...masking import cut
from ..events import Usage
from ..state.tree import Data
from ..state.words import COMPLETED, FAILED, NEEDS_HUMAN

SUMMARY_CHARS_MAX = 2_000
"""A longer summary is cut here; the output is recorded beside it."""

RATE_LIMIT, NETWORK, TIMEOUT, VALIDATION, LOGIC = (
    "rate-limit",
    "network",
    "timeout",
    "validation",
    "logic",
)

_SIGNS = (
    (RATE_LIMIT, r"rate.?limit|too many requests|\b429\b|\b529\b|overloaded|usage limit"),
    (
        NETWORK,
        r"ECONN(?:RESET|REFUSED|ABORTED)|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EPIPE|"
        r"connection (?:reset|refused|closed|aborted|error)|network (?:error|is unreach)|"
        r"socket hang up|could not resolve|name resolution|\b50[234]\b|bad gateway|"
        r"service unavailable",
    ),
    (TIMEOUT, r"ETIMEDOUT|timed?[ -]?out|deadline exceeded"),
)
"""What in an error's text speaks for a category; the first that is found counts."""

_WORDS = {
    "completed": COMPLETED,
    "complete": COMPLETED,
    "success": COMPLETED,
    "failed": FAILED,
    "failure": FAILED,
    "error": FAILED,
    "blocked": NEEDS_HUMAN,
    "needs-human": NEEDS_HUMAN,
}
"""The words an agent may say of itself, and what they mean here."""


class Answer(msgspec.Struct, frozen=True):
    """What an agent's output says, as far as it is understood."""

    text: str
    """Its final words."""
    error: str | None = None
    """Why it failed, when it says itself that it did."""
    usage: Usage | None = None
    """What it cost, as far as it says."""
    is_cut: bool = False
    """Whether the output ends in the middle of the work."""
    unknown: int = 0
    """How many lines of it were not understood."""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run ended: completed, failed (error, category) or needs-human (reason)."""

    status: str
    summary: str | None = None
    error: str | None = None
    category: str = LOGIC
    details: str | None = None
    usage: Usage | None = None
    reason: str | None = None
    """What a person is needed for; `error` then is what led there, if that was said."""


def judge(
    answer: Answer,
    *,
    errors: str = "",
    exit_code: int | None,
    timed_out: bool = False,
    read: Callable[[str], Verdict] | None = None,
) -> Verdict:
    """Return what a run means; `exit_code` is negative for a signal, None if unknown.

    `read` makes a verdict of the final words of a run that went well.
    """
    verdict = _judged(answer, errors, exit_code, timed_out=timed_out, read=read)
    return msgspec.structs.replace(verdict, usage=answer.usage)


def _judged(
    answer: Answer,
    errors: str,
    exit_code: int | None,
    *,
    timed_out: bool,
    read: Callable[[str], Verdict] | None,
) -> Verdict:
    if timed_out:
        return Verdict(FAILED, error="the time limit was reached", category=TIMEOUT)
    if answer.error is not None:
        return Verdict(FAILED, error=short(answer.error), category=categorise(answer.error))
    if exit_code != 0:
        said = errors.strip() or answer.text.strip()
        error = short(_exit_text(exit_code, said))
        return Verdict(FAILED, error=error, category=categorise(said))
    if answer.is_cut:
        return invalid("the agent's output ends in the middle of its work")
    return (read or _of_text)(answer.text)


def categorise(error: str) -> str:
    """Return the category of failure that an error's text speaks for, else `logic`."""
    for category, pattern in _SIGNS:
        if re.search(pattern, error, re.IGNORECASE):
            return category
    return LOGIC


def _of_text(text: str) -> Verdict:
    """Return the verdict on a successful run's final text."""
    own = last_object(text, lambda found: "status" in found)
    if own is None:
        if not text.strip():
            return invalid("the agent ended without saying anything")
        return Verdict(COMPLETED, summary=short(text))
    if _WORDS.get(_text(own.get("status"))) == COMPLETED:
        summary = _text(own.get("summary"))
        return Verdict(COMPLETED, summary=short(summary) if summary else None)
    return no_success(own)


def no_success(own: Data) -> Verdict:
    """Return the verdict that an agent's own object gives on a run that was no success."""
    word = _text(own.get("status"))
    status = _WORDS.get(word)
    if status not in (FAILED, NEEDS_HUMAN):
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


def invalid(error: str) -> Verdict:
    """Return that an answer cannot be understood, which is a failure."""
    return Verdict(FAILED, error=error, category=VALIDATION)


def last_object(text: str, fits: Callable[[Data], bool], *, told: str = "") -> Data | None:
    """Return the fitting JSON object that the text is, or that its last line is.

    A code fence around the end of the text is looked through.
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
    """Tell whether a piece of an answer only repeats lines of what was told."""
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
    """Return a text within the length of a summary."""
    text = text.strip()
    if len(text) <= SUMMARY_CHARS_MAX:
        return text
    return f"{cut(text, SUMMARY_CHARS_MAX - 1).rstrip()}…"
