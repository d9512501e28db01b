"""The table that maps an agent's error or notice to its meaning.

Structured fields take precedence over text; the first matching row applies. `codes` are an
agent's or a server's own error codes. `words` are searched for in the lines of an error.
`notice` matches the complete wording of a program's notice: an answer that consists only of
a notice is not work, even with exit status 0. Every row with a notice has a case in
`fixtures/limits.toml`.
"""

from typing import NamedTuple

from ..state.words import FAILURE_CATEGORIES, WAITS_FOR

UNTIL = "wait-until"
"""Wait until the stated time; without a stated time, successive waits grow longer."""
RETRY = "wait-and-retry"
PERSON = "person"
"""Only a person or a payment can resolve the error."""
FAILURE = "failure"
"""The task failed; the retry policy decides."""
KINDS = (UNTIL, RETRY, PERSON, FAILURE)

USAGE, OVERLOAD, NETWORK_DOWN = WAITS_FOR

NETWORK, RATE_LIMIT, TIMEOUT, VALIDATION, LOGIC = FAILURE_CATEGORIES
"""The categories of failure."""

NO_ANSWER = "no_answer"
"""The code of a run that ended successfully without an answer."""


class Sign(NamedTuple):
    """A row in the table of limits."""

    agents: tuple[str, ...]
    """The agents that print `notice`; empty if the notice comes from a server."""
    kind: str
    category: str
    waits_for: str | None = None
    """For a wait, a key of `WAITS_FOR`."""
    statuses: tuple[int, ...] = ()
    """HTTP statuses."""
    codes: tuple[str, ...] = ()
    words: str = ""
    notice: str = ""


_YOU_REACHED = r"you['\u2019]ve (?:hit|reached|exceeded) your (?:[\w'\u2019-]+ ){0,4}"
_BODY = r"(?: ?\{[^\n]*\})?"
"""The JSON text at the end of an API error."""

AFTER_NOTICE = (
    r"(?:[\s·∙•|:,.;\u2013-]+(?:resets?\b|your limit will reset\b|/upgrade\b|upgrade to\b"
    r"|(?:please )?(?:wait|try again|run /login|fix external api key)\b|or try again\b"
    r"|raise it\b|to get more access\b|check your plan\b|\(request id:)[^\n]{0,200}){0,3}"
)
"""Text that programs append to a notice, such as the time of the limit's end."""

_PERSON_NEEDED = PERSON, LOGIC
_USED_UP = UNTIL, RATE_LIMIT, USAGE
_OVERLOADED = RETRY, RATE_LIMIT, OVERLOAD
_SERVER_DOWN = RETRY, NETWORK, OVERLOAD
_OFFLINE = RETRY, NETWORK, NETWORK_DOWN

SIGNS = (
    Sign(
        (),
        *_PERSON_NEEDED,
        statuses=(401, 402),
        codes=(
            *("authentication_failed", "authentication_error", "billing_error"),
            *("permission_error", "insufficient_quota"),
        ),
        words=r"insufficient_quota|invalid (?:x-)?api[- ]?key|authentication_error"
        r"|permission_error|please run /login|not logged in|token (?:has )?expired"
        r"|quota[,.]? (?:please )?check your plan and billing(?![\s\S]{0,500}\bretry\b)"
        r"|spend(?:ing)? (?:limit|cap)\b(?![^\n]{0,200}\bresets?\b)",
    ),
    Sign(
        ("claude",),
        *_PERSON_NEEDED,
        notice=r"credit balance is too low|invalid api key"
        r"|oauth token (?:revoked|has expired)"
        r"|your usage allocation has been disabled by your admin"
        rf"|{_YOU_REACHED}spend(?:ing)? (?:limit|cap)(?![^\n]{0, 200}\bresets?\b)"
        rf"|api error:? \(?(?:401|403)\b\)?{_BODY}",
    ),
    Sign(
        ("codex",),
        *_PERSON_NEEDED,
        notice=r"your workspace is out of credits|quota exceeded(?=\. check your plan)",
    ),
    Sign(
        (),
        FAILURE,
        LOGIC,
        statuses=(400, 404, 413, 422),
        codes=("invalid_request", "invalid_request_error", "error_max_budget_usd"),
        words=r"prompt is too long|context_length_exceeded",
    ),
    Sign(
        ("claude", "codex", "copilot"),
        *_USED_UP,
        notice=rf"{_YOU_REACHED}limit|you['\u2019]re out of (?:[\w-]+ )?usage"
        r"|(?:[\w'\u2019-]{1,20} ){0,5}limit(?: reached)?\s*[·∙•](?=\s*resets? )"
        r"|claude (?:ai )?usage limit reached(?:\|\d{10,13})?"
        r"|api error: rate limit reached"
        rf"|api error:? \(?429\b\)?{_BODY}",
    ),
    Sign(
        ("antigravity", "gemini"),
        *_USED_UP,
        notice=r"(?:api error: )?resource_exhausted \(code 429\)[^\n]{0,200}",
    ),
    Sign(
        (),
        *_USED_UP,
        statuses=(429,),
        codes=(
            *("rate_limit", "rate_limit_error", "rate_limit_exceeded", "quota"),
            *("usage_limit_reached", "quota_exceeded", "resource_exhausted"),
        ),
        words=r"(?:usage|session|weekly|daily|hourly|hour|opus|sonnet|request|token"
        r"|spend(?:ing)?) limit\b|hit your (?:[\w-]+ ){0,3}limit|limit reached"
        r"|limit\W{1,4}resets\b"
        r"|rate[-_ ]?limit(?:ed|s?[-_ ]?(?:reached|exceeded|hit|error)|\W{1,3}\d|\W*$)"
        r"|too many requests|quota (?:exceeded|exhausted|reached|will reset)"
        r"|exceeded (?:your |the )?(?:current |daily )?(?:quota|rate)|resource[_ ]exhausted"
        r"|\btry again (?:in|at)\b|\bretry[- ](?:after|in)\b"
        r"|\bresets (?:(?:at|in|on|mon|tue|wed|thu|fri|sat|sun)\b|\d)"
        r"|^\W*429\b|(?:http|status|error|code|rejected)\W{0,12}429\b",
    ),
    Sign(
        ("claude",),
        *_OVERLOADED,
        notice=r"api error:? (?:repeated )?\(?529\b\)?(?: overloaded(?:_error| errors?)?)?"
        rf"{_BODY}",
    ),
    Sign(
        ("codex",),
        *_OVERLOADED,
        notice=r"we['\u2019]re currently experiencing high demand, which may cause"
        r" temporary errors|selected model is at capacity\. please try a different model",
    ),
    Sign(
        (),
        *_OVERLOADED,
        statuses=(529,),
        codes=("overloaded", "overloaded_error"),
        words=r"overloaded|\b529\b|(?:at|no) capacity",
    ),
    Sign(
        ("claude",),
        *_SERVER_DOWN,
        notice=r"api error:? \(?50[0234]\b\)?(?: internal server error| bad gateway"
        rf"| service unavailable| gateway time-?out)?{_BODY}",
    ),
    Sign(
        (),
        *_SERVER_DOWN,
        statuses=(500, 502, 503, 504),
        codes=("server_error", "api_error", "internal_server_error", "unavailable"),
        words=r"(?:http|status|error|code)\W{0,12}50[0234]\b"
        r"|\b50[0234] (?:bad|service|internal|gat)|internal server error"
        r"|service unavailable|bad gateway|gateway time-?out",
    ),
    Sign(
        ("claude",), *_OFFLINE, notice=r"api error: (?:connection error|request timed out)"
    ),
    Sign(
        (),
        *_OFFLINE,
        statuses=(408,),
        codes=("connection_error",),
        words=r"ECONN(?:RESET|REFUSED|ABORTED)|ENOTFOUND|EAI_AGAIN|ENETUNREACH"
        r"|EHOSTUNREACH|EPIPE|ETIMEDOUT|network (?:error|is unreach)|socket hang up"
        r"|connection (?:reset|refused|closed|aborted|error|timed out)"
        r"|could not resolve|name resolution|fetch failed|getaddrinfo|unable to connect"
        r"|stream disconnected|request timed out",
    ),
    Sign((), FAILURE, NETWORK, codes=(NO_ANSWER,)),
    # The limits of a single run: another run can continue the work.
    Sign(
        (),
        FAILURE,
        TIMEOUT,
        codes=("error_max_turns",),
        words=r"timed?[ -]?out|deadline exceeded|error_max_turns|maximum number of turns",
    ),
)
"""The table of signs; an error that matches none is a failure of category `logic`."""
