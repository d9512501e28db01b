"""The items of an agent's answer: requests, proposed steps, learnings, and steps.

Each item is read separately: a problem with one names its field, and the other items are
still read. The answer is untrusted: items are limited in number and length, and statuses
and decisions in them are ignored.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, NamedTuple, TypeVar

import msgspec

from ...masking import cut
from ..state.tree import Data
from ..state.words import MODELS, PRIORITIES, REQUEST_TYPES

REQUESTS, PROPOSED, LEARNINGS = "operatorRequests", "proposedSteps", "learnings"
COMPLETED_IDS, PENDING_STEPS = "completedStepIds", "pendingSteps"
STEPS_DONE = ("completed", COMPLETED_IDS)
STEPS_OPEN = ("pending", PENDING_STEPS)
KEYS = frozenset((REQUESTS, PROPOSED, LEARNINGS, COMPLETED_IDS, PENDING_STEPS))
"""The keys that identify an answer object without a `status`."""

REQUESTS_MAX = 100
"""The maximum number of requests, and of proposed steps, in an answer."""
LEARNINGS_MAX = 50
STEPS_MAX = 1_000
"""The maximum number of steps of each kind in an answer."""
PROBLEMS_MAX = 20
"""Further problems are only counted."""
TITLE_CHARS_MAX = 200
TEXT_CHARS_MAX = 10_000
"""The length at which descriptions and learnings are cut; the output is recorded too."""
PROMPT_CHARS_MAX = 100_000
CONTEXT_BYTES_MAX = 16 * 1024
CONTEXT_DEPTH_MAX = 16
ID_CHARS_MAX = 128
STEP = "step"
"""The key of a proposed step in the context of a request; see `queue.decisions`."""
IMPROVEMENT, MEDIUM = REQUEST_TYPES[1], PRIORITIES[2]

LEARNING_TYPES = (
    *("codebase-pattern", "build-command", "test-pattern", "api-convention"),
    *("error-workaround", "tool-usage", "architecture-constraint", "dependency-quirk"),
)
"""The same as those of the journal; a test compares them."""
Item = TypeVar("Item")
Read = Callable[[Any, str, list[str]], Item]
"""Takes a value, its field, and a list for problems that affect only a subfield."""


class OpenStep(NamedTuple):
    """A step that an agent reports as not done."""

    prompt: str | None
    id: str | None = None


class SaidRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request for a person's decision."""

    title: str
    priority: str
    request_type: str
    description: str | None = None
    request: str | None = None
    """The id chosen by the agent."""
    context: Data | None = None


class SaidLearning(msgspec.Struct, frozen=True, omit_defaults=True):
    """Information for later runs."""

    content: str
    type: str = LEARNING_TYPES[0]
    context: str = ""


class SaidItems(msgspec.Struct, frozen=True, omit_defaults=True):
    """The items of an answer, besides the verdict on the run."""

    requests: tuple[SaidRequest, ...] = ()
    """Requests, followed by those for proposed steps."""
    learnings: tuple[SaidLearning, ...] = ()
    completed: tuple[str, ...] = ()
    """The ids of completed steps."""
    pending: tuple[OpenStep, ...] = ()
    """The open steps."""
    problems: tuple[str, ...] = ()
    """The reasons for rejected items, each with its field."""


class _BadError(Exception):
    """A field has an invalid value."""


def read_said(own: Data) -> SaidItems:
    """Return the items in the answer object of an agent."""
    problems: list[str] = []
    requests = _items(own, REQUESTS, REQUESTS_MAX, _request, problems)
    proposed = _items(own, PROPOSED, REQUESTS_MAX, _proposed, problems)
    return SaidItems(
        (*requests, *proposed),
        _items(own, LEARNINGS, LEARNINGS_MAX, _learning, problems),
        _of_both(own, STEPS_DONE, _done_id, problems),
        _of_both(own, STEPS_OPEN, _wanted, problems),
        _bounded(problems),
    )


def proposal(prompt: str, *, identity: str | None = None) -> SaidRequest:
    """Return the request for a decision on a proposed step."""
    step = {"prompt": prompt} if identity is None else {"id": identity, "prompt": prompt}
    first = prompt.strip().partition("\n")[0]
    return SaidRequest(
        _shortened(_one_line(first), TITLE_CHARS_MAX),
        MEDIUM,
        IMPROVEMENT,
        description=_shortened(prompt.strip(), TEXT_CHARS_MAX),
        context={STEP: step},
    )


def _items(
    own: Data, key: str, most: int, read: Read[Item], problems: list[str]
) -> tuple[Item, ...]:
    given = own.get(key)
    if given is None:
        return ()
    if not isinstance(given, list):
        problems.append(f"{key}: is not a list")
        return ()
    if len(given) > most:
        problems.append(f"{key}: only the first {most} of {len(given)} are taken")
    found = []
    for index, value in enumerate(given[:most]):
        try:
            found.append(read(value, f"{key}[{index}]", problems))
        except _BadError as error:
            problems.append(str(error))
    return tuple(found)


def _of_both(
    own: Data, keys: tuple[str, ...], read: Read[Item], problems: list[str]
) -> tuple[Item, ...]:
    found = [_items(own, key, STEPS_MAX, read, problems) for key in keys]
    return tuple(dict.fromkeys(item for items in found for item in items))


def _bounded(problems: list[str]) -> tuple[str, ...]:
    if len(problems) <= PROBLEMS_MAX:
        return tuple(problems)
    more = len(problems) - PROBLEMS_MAX
    return (*problems[:PROBLEMS_MAX], f"{more} more of its items could not be taken")


def _request(value: Any, field: str, problems: list[str]) -> SaidRequest:
    given = _mapping(value, field)
    title = _text(given, "title", field)
    description = _optional_text(given, "description", field, problems)
    if description is None and len(title) > TITLE_CHARS_MAX:
        description = title
    context = _context(given, field, problems)
    if context is not None and STEP in context:
        # A person sees only the title, so a request must not contain a hidden step.
        problems.append(f"{field}.context.{STEP}: only {PROPOSED} carry one; left out")
        context = {key: part for key, part in context.items() if key != STEP} or None
    return SaidRequest(
        _shortened(_one_line(title), TITLE_CHARS_MAX),
        _word(given, "priority", PRIORITIES, field),
        _word(given, "type", REQUEST_TYPES, field),
        description=description and _shortened(description, TEXT_CHARS_MAX),
        request=_optional_id(given, "id", field, problems),
        context=context,
    )


def _proposed(value: Any, field: str, problems: list[str]) -> SaidRequest:
    if isinstance(value, str):
        return proposal(_prompt(value, f"{field}"))
    given = _mapping(value, field)
    asked = proposal(_prompt(given.get("prompt"), f"{field}.prompt"))
    assert asked.context is not None
    step, beside = asked.context[STEP], {}
    for name, key in (("id", "id"), ("insertAfter", "insertAfter")):
        if (found := _optional_id(given, key, field, problems)) is not None:
            step[name] = found
    if (model := _optional_word(given, "model", MODELS, field, problems)) is not None:
        step["model"] = model
    if (why := _optional_text(given, "reasoning", field, problems)) is not None:
        beside["reasoning"] = _shortened(why, TEXT_CHARS_MAX)
    title = _optional_text(given, "title", field, problems)
    priority = _optional_word(given, "priority", PRIORITIES, field, problems)
    return SaidRequest(
        asked.title if title is None else _shortened(_one_line(title), TITLE_CHARS_MAX),
        priority or asked.priority,
        asked.request_type,
        description=asked.description,
        context={STEP: step, **beside},
    )


def _learning(value: Any, field: str, problems: list[str]) -> SaidLearning:
    if isinstance(value, str):
        if not value.strip():
            raise _BadError(f"{field}: is empty")
        return SaidLearning(_shortened(value.strip(), TEXT_CHARS_MAX))
    given = _mapping(value, field)
    content = _shortened(_text(given, "content", field), TEXT_CHARS_MAX)
    kind = _optional_word(given, "type", LEARNING_TYPES, field, problems)
    where = _optional_text(given, "context", field, problems) or ""
    where = _shortened(_one_line(where), TITLE_CHARS_MAX)
    return SaidLearning(content, kind or LEARNING_TYPES[0], where)


def _done_id(value: Any, field: str, problems: list[str]) -> str:
    if not _is_id(value):
        raise _BadError(f"{field}: must be 1 to {ID_CHARS_MAX} printable characters")
    return str(value)


def _wanted(value: Any, field: str, problems: list[str]) -> OpenStep:
    if isinstance(value, str):
        return OpenStep(_prompt(value, field))
    given = _mapping(value, field, "neither a text nor an object")
    identity, prompt = given.get("id"), given.get("prompt")
    if identity is None:
        return OpenStep(_prompt(prompt, f"{field}.prompt"))
    identity = _done_id(identity, f"{field}.id", problems)
    if prompt is None:
        return OpenStep(None, identity)
    return OpenStep(_prompt(prompt, f"{field}.prompt"), identity)


def _mapping(value: Any, field: str, problem: str = "not an object") -> Data:
    if not isinstance(value, dict):
        raise _BadError(f"{field}: is {problem}")
    return value


def _prompt(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _BadError(f"{field}: is missing or empty")
    if len(value) > PROMPT_CHARS_MAX:
        # A truncated prompt could mean something else.
        raise _BadError(f"{field}: is longer than {PROMPT_CHARS_MAX} characters")
    return value


def _text(given: Data, key: str, field: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _BadError(f"{field}.{key}: is missing or empty")
    return value.strip()


def _optional_text(given: Data, key: str, field: str, problems: list[str]) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        problems.append(f"{field}.{key}: is not text; left out")
        return None
    return value.strip() or None if value is not None else None


def _word(given: Data, key: str, allowed: tuple[str, ...], field: str) -> str:
    value = given.get(key)
    if value not in allowed:
        raise _BadError(f"{field}.{key}: must be one of {', '.join(allowed)}")
    return str(value)


def _optional_word(
    given: Data, key: str, allowed: tuple[str, ...], field: str, problems: list[str]
) -> str | None:
    if given.get(key) is None:
        return None
    try:
        return _word(given, key, allowed, field)
    except _BadError as error:
        problems.append(f"{error}; left out")
        return None


def _optional_id(given: Data, key: str, field: str, problems: list[str]) -> str | None:
    value = given.get(key)
    if value is None or _is_id(value):
        return value
    problems.append(
        f"{field}.{key}: must be 1 to {ID_CHARS_MAX} printable characters; left out"
    )
    return None


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= ID_CHARS_MAX and value.isprintable()


def _context(given: Data, field: str, problems: list[str]) -> Data | None:
    value = given.get("context")
    if value is None:
        return None
    problem = None
    if not isinstance(value, dict):
        problem = "is not an object"
    elif not _is_sound(value, CONTEXT_DEPTH_MAX):
        problem = "is nested too deeply, or holds a number that is too large"
    elif len(msgspec.json.encode(value)) > CONTEXT_BYTES_MAX:
        problem = f"is longer than {CONTEXT_BYTES_MAX // 1024} KiB"
    if problem is None:
        return value or None
    problems.append(f"{field}.context: {problem}; left out")
    return None


def _is_sound(value: Any, depth: int) -> bool:
    """Return whether a JSON value can be stored in the log."""
    if isinstance(value, dict):
        return depth > 0 and all(_is_sound(part, depth - 1) for part in value.values())
    if isinstance(value, list):
        return depth > 0 and all(_is_sound(part, depth - 1) for part in value)
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{cut(text, most - 1).rstrip()}…"
