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
    *, output: str, errors: str = "", exit_code: int | None, timed_out: bool = False
) -> Verdict:
    """Return what a run means; `exit_code` is negative for a signal, None if unknown."""
    result = _result(output)
    usage = _usage(result) if result else None
    text = output if result is None else _text(result.get("result"))
    if timed_out:
        return Verdict(FAILED, error="the time limit was reached", category=TIMEOUT)
    if result is not None and _is_error(result):
        error = text.strip() or _text(result.get("subtype")) or "the agent gave no reason"
        return Verdict(FAILED, error=_short(error), category=categorise(error), usage=usage)
    if exit_code != 0:
        said = errors.strip() or text.strip()
        error = _short(_exit_text(exit_code, said))
        return Verdict(FAILED, error=error, category=categorise(said), usage=usage)
    return msgspec.structs.replace(_of_text(text), usage=usage)


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
    own = _last_object(text, lambda found: "status" in found)
    if own is None:
        if not text.strip():
            return _invalid("the agent ended without saying anything")
        return Verdict(COMPLETED, summary=_short(text))
    status = _WORDS.get(_text(own.get("status")))
    summary = _text(own.get("summary")) or None
    if status is None:
        return _invalid(f"the agent's status {_text(own.get('status'))[:40]!r} is unknown")
    if status == COMPLETED:
        return Verdict(COMPLETED, summary=_short(summary) if summary else None)
    error = _text(own.get("error")) or summary or "the agent gave no reason"
    if status == FAILED:
        return Verdict(FAILED, error=_short(error), category=categorise(error))
    needed = own.get("human-needed") or own.get("humanNeeded") or own
    reason = _text(needed.get("reason")) if isinstance(needed, dict) else _text(needed)
    details = _text(needed.get("details")) if isinstance(needed, dict) else ""
    return Verdict(NEEDS_HUMAN, error=_short(reason or error), details=details or None)


def _invalid(error: str) -> Verdict:
    return Verdict(FAILED, error=error, category=VALIDATION)


def _result(output: str) -> Data | None:
    return _last_object(output, lambda found: found.get("type") == "result")


def _last_object(text: str, fits: Callable[[Data], bool]) -> Data | None:
    """Return the fitting JSON object that the text is, or that its last line is.

    A code fence around the end of the text is looked through.
    """
    stripped = text.strip().removesuffix("```").rstrip()
    candidates = [stripped, stripped.rpartition("\n")[2]]
    if "```json" in stripped:
        candidates.append(stripped.rpartition("```json")[2])
    for candidate in candidates:
        found = _object(candidate) if candidate.lstrip().startswith("{") else None
        if found is not None and fits(found):
            return found
    return None


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


def _short(text: str) -> str:
    text = text.strip()
    if len(text) <= SUMMARY_CHARS_MAX:
        return text
    return f"{text[: SUMMARY_CHARS_MAX - 1].rstrip()}…"
