"""What the end of an agent's run is: a wait, a failure, or the work's own error.

One table says it. A **wait** is what passes by itself: a usage limit, a server that is
overloaded, a network that is gone. Nothing is wrong with the work, so nothing counts. A
**failure** counts, and the policy decides. The **work's own error** is what an agent says
in its answer: it was able to speak, so whatever it says of limits, nobody waits for one.

What decoders find decides first: the status of HTTP, the agent's own word for the error.
Words decide where they say nothing: those of an error, never those of an answer.
"""

import re
from typing import NamedTuple

import msgspec

from ..events.loop import Limit
from ..state.times import to_text
from .reset_times import Moment, reset_in

USAGE, OVERLOAD, NETWORK_DOWN = "usage-limit", "overload", "network"
WAITS_FOR = {
    USAGE: "the usage limit",
    OVERLOAD: "the model to answer again",
    NETWORK_DOWN: "the network",
}
"""What a loop waits for, as it is said to people: `waits until 05:00 for …`."""

RATE_LIMIT, NETWORK, TIMEOUT, VALIDATION, LOGIC = (
    "rate-limit",
    "network",
    "timeout",
    "validation",
    "logic",
)
"""The categories of failure."""

NO_ANSWER = "no_answer"
"""What kind of error it is that an agent ended well and said nothing."""

ERROR_LINES_MAX = 12
"""So many of the last lines of standard error may say why a run ended."""
_LINE_CHARS_MAX = 2_000


class Refusal(msgspec.Struct, frozen=True):
    """What an agent's output says of being refused, beside its words."""

    status: int | None = None
    """Of HTTP."""
    kind: str = ""
    """The agent's own word for the error."""
    fields: str = ""
    """Fields and headers that say until when: `resetsAt: 1760000000`."""


class Sign(NamedTuple):
    """A row of the table: by what an end is known, and what it is."""

    category: str
    waits_for: str | None
    """What is waited for: a word of `WAITS_FOR`; None for a failure."""
    statuses: tuple[int, ...]
    """Of HTTP."""
    kinds: tuple[str, ...]
    """The words of agents and of models' servers for it."""
    words: str


SIGNS = (
    # Time does not mend these.
    Sign(
        LOGIC,
        None,
        (400, 401, 404, 413, 422),
        (
            *("authentication_failed", "authentication_error", "billing_error"),
            *("invalid_request", "invalid_request_error", "permission_error"),
            *("insufficient_quota", "error_max_budget_usd"),
        ),
        r"credit balance is too low|insufficient_quota|invalid (?:x-)?api[- ]?key"
        r"|authentication_error|permission_error|please run /login|not logged in"
        r"|token (?:has )?expired|prompt is too long|context_length_exceeded",
    ),
    Sign(
        RATE_LIMIT,
        USAGE,
        (429,),
        (
            *("rate_limit", "rate_limit_error", "rate_limit_exceeded", "quota"),
            *("usage_limit_reached", "quota_exceeded", "resource_exhausted"),
        ),
        r"(?:usage|session|weekly|daily|hourly|hour|opus|sonnet|request|token|spend(?:ing)?)"
        r" limit\b|hit your (?:[\w-]+ ){0,3}limit|limit reached|limit\W{1,4}resets\b"
        r"|rate[-_ ]?limit(?:ed|s?[-_ ]?(?:reached|exceeded|hit|error)|\W{1,3}\d|\W*$)"
        r"|too many requests|quota (?:exceeded|exhausted|reached|will reset)"
        r"|exceeded (?:your |the )?(?:current |daily )?(?:quota|rate)|resource[_ ]exhausted"
        r"|\btry again (?:in|at)\b|\bretry[- ](?:after|in)\b"
        r"|\bresets (?:(?:at|in|on|mon|tue|wed|thu|fri|sat|sun)\b|\d)"
        r"|^\W*429\b|(?:http|status|error|code|rejected)\W{0,12}429\b",
    ),
    Sign(
        RATE_LIMIT,
        OVERLOAD,
        (529,),
        ("overloaded", "overloaded_error"),
        r"overloaded|\b529\b|(?:at|no) capacity",
    ),
    Sign(
        NETWORK,
        OVERLOAD,
        (500, 502, 503, 504),
        ("server_error", "api_error", "internal_server_error", "unavailable"),
        r"(?:http|status|error|code)\W{0,12}50[0234]\b"
        r"|\b50[0234] (?:bad|service|internal|gat)|internal server error"
        r"|service unavailable|bad gateway|gateway time-?out",
    ),
    Sign(
        NETWORK,
        NETWORK_DOWN,
        (408,),
        ("connection_error",),
        r"ECONN(?:RESET|REFUSED|ABORTED)|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|EPIPE"
        r"|ETIMEDOUT|connection (?:reset|refused|closed|aborted|error|timed out)"
        r"|network (?:error|is unreach)|socket hang up|could not resolve|name resolution"
        r"|fetch failed|getaddrinfo|unable to connect|stream disconnected"
        r"|request timed out",
    ),
    Sign(NETWORK, None, (), (NO_ANSWER,), r"(?!)"),
    # The bounds of one run: another one goes on with the work.
    Sign(
        TIMEOUT,
        None,
        (),
        ("error_max_turns",),
        r"timed?[ -]?out|deadline exceeded|error_max_turns|maximum number of turns",
    ),
)
"""What an end is known by; the first that fits counts, and without any it is `logic`."""

_NOTICE = (
    r"\W*(?:claude (?:ai )?usage limit reached\|\d{10,13}"
    r"|[\w'\u2019 -]{0,60}\blimit(?: reached)?\s*[·∙•]\s*resets? [^\n]{1,60})\W*"
)
"""All of an answer that is no answer: a program says it of its limit, and ends well."""
_COMPLAINS = r"\W*(?:api error|error|fatal|http|429|5\d\d)\b"
"""How a line of plain words begins that is of a program and not of the work."""


def sign_of(words: str, refusal: Refusal | None = None) -> Sign | None:
    """Return the row of the table that an end belongs to; None where none fits."""
    status, kind = (refusal.status, refusal.kind.lower()) if refusal else (None, "")
    if kind and (named := next((x for x in SIGNS if kind in x.kinds), None)) is not None:
        return named
    if (found := by_words(words)) is SIGNS[0]:
        # A quota that money alone extends comes with the status of a limit that passes.
        return found
    return next((sign for sign in SIGNS if status in sign.statuses), found)


def by_words(words: str) -> Sign | None:
    """Return the row that an error's words speak for."""
    return next(
        (x for x in SIGNS if re.search(x.words, words, re.IGNORECASE | re.MULTILINE)), None
    )


def limit_of(
    sign: Sign | None, words: str, refusal: Refusal | None, moment: Moment | None
) -> Limit | None:
    """Return what is to be waited for, and until when where that is said; None for nothing.

    Without a moment nobody can tell how long, but the wait is one all the same.
    """
    if sign is None or sign.waits_for is None:
        return None
    found = None
    if moment is not None:
        fields = refusal.fields if refusal is not None else ""
        found = reset_in(fields, moment) or reset_in(words, moment)
    if found is None:
        return Limit(sign.waits_for)
    return Limit(sign.waits_for, to_text(found.until), found.said)


def is_notice(answer: str) -> bool:
    """Tell whether all of a successful run's answer is a program's word on its limit."""
    return re.fullmatch(_NOTICE, answer.strip(), re.IGNORECASE) is not None


def complaint(errors: str, answer: str) -> str:
    """Return what a command that failed says of why: the last lines that are no prose.

    Of standard error those are the last lines, of plain words only a program's own.
    """
    lines = [line.strip()[-_LINE_CHARS_MAX:] for line in errors.split("\n") if line.strip()]
    said = [line.strip() for line in answer.split("\n") if line.strip()][-2:]
    own = [
        line[:_LINE_CHARS_MAX]
        for line in said
        if is_notice(line) or re.match(_COMPLAINS, line, re.IGNORECASE)
    ]
    return "\n".join([*lines[-ERROR_LINES_MAX:], *own])
