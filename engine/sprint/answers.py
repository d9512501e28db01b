"""What an agent's run means: from its exit code and output to a verdict.

Understood are plain text, the result JSON that agent command lines print (`type:
result`, alone or as the last line of a stream), and a JSON object with a `status` of its
own, as the whole text or as its last line. Nothing but a plain success counts as one:
an unknown word, an unreadable answer and silence are failures (DESIGN.md section 7).
"""

import re
from collections.abc import Callable

import msgspec

from .facts import Usage
from .tree import Data
from .words import COMPLETED, FAILED, NEEDS_HUMAN

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


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run ended: completed, failed (error, category) or needs-human (reason)."""

    status: str
    summary: str | None = None
    error: str | None = None
    category: str = LOGIC
    details: str | None = None
    usage: Usage | None = None


def judge(
    *,
    output: str,
    errors: str = "",
    exit_code: int | None,
    timed_out: bool = False,
    read: Callable[[str], Verdict] | None = None,
    told: str = "",
) -> Verdict:
    """Return what a run means; `exit_code` is negative for a signal, None if unknown.

    `read` makes a verdict of the final text of a run that went well. An object that
    only repeats lines of `told` is none of the agent's own.
    """
    result = _result(output, told=told)
    usage = _usage(result) if result else None
    text = output if result is None else _text(result.get("result"))
    if timed_out:
        return Verdict(FAILED, error="the time limit was reached", category=TIMEOUT)
    if result is not None and _is_error(result):
        error = text.strip() or _text(result.get("subtype")) or "the agent gave no reason"
        return Verdict(FAILED, error=short(error), category=categorise(error), usage=usage)
    if exit_code != 0:
        said = errors.strip() or text.strip()
        error = short(_exit_text(exit_code, said))
        return Verdict(FAILED, error=error, category=categorise(said), usage=usage)
    return msgspec.structs.replace((read or _of_text)(text), usage=usage)


def usage_of(output: str) -> Usage | None:
    """Return what a run cost, as far as a result in its output says."""
    result = _result(output)
    return None if result is None else _usage(result)


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
    error = _text(own.get("error")) or _text(own.get("summary"))
    error = error or "the agent gave no reason"
    if status == FAILED:
        return Verdict(FAILED, error=short(error), category=categorise(error))
    needed = own.get("human-needed") or own.get("humanNeeded") or own
    reason = _text(needed.get("reason")) if isinstance(needed, dict) else _text(needed)
    details = _text(needed.get("details")) if isinstance(needed, dict) else ""
    return Verdict(NEEDS_HUMAN, error=short(reason or error), details=details or None)


def invalid(error: str) -> Verdict:
    """Return that an answer cannot be understood, which is a failure."""
    return Verdict(FAILED, error=error, category=VALIDATION)


def _result(output: str, *, told: str = "") -> Data | None:
    return last_object(output, lambda found: found.get("type") == "result", told=told)


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


def _is_error(result: Data) -> bool:
    subtype = _text(result.get("subtype"))
    return result.get("is_error") is True or subtype.startswith("error")


def _usage(result: Data) -> Usage | None:
    tokens = result.get("usage")
    tokens = tokens if isinstance(tokens, dict) else {}
    usage = Usage(
        input_tokens=_count(tokens.get("input_tokens")),
        output_tokens=_count(tokens.get("output_tokens")),
        cache_read_tokens=_count(tokens.get("cache_read_input_tokens")),
        cache_creation_tokens=_count(tokens.get("cache_creation_input_tokens")),
        cost_usd=_amount(result.get("total_cost_usd", result.get("cost_usd"))),
        turns=_count(result.get("num_turns")),
        duration_ms=_count(result.get("duration_ms")),
    )
    return None if usage == Usage() else usage


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**63 else None


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return float(value)


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
    return f"{text[: SUMMARY_CHARS_MAX - 1].rstrip()}…"
