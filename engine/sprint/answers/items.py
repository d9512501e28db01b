"""The items in an agent's answer: requests, proposed steps, learnings and step updates.

Each item is read separately: an invalid item is reported with its field name, and the
remaining items are still read. The answer is untrusted: the number and length of items are
limited, and any statuses and decisions in the items are ignored.
"""

from collections.abc import Callable
from functools import partial
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
ACKNOWLEDGED = "acknowledged"
KEYS = frozenset(
    (REQUESTS, PROPOSED, LEARNINGS, COMPLETED_IDS, PENDING_STEPS, ACKNOWLEDGED)
)
"""The keys that identify an answer object without a `status`."""

REQUESTS_MAX = 100
"""The maximum number of requests, and of proposed steps, in an answer."""
LEARNINGS_MAX = 50
STEPS_MAX = 1_000
"""The maximum number of steps of each kind in an answer."""
PROBLEMS_MAX = 20
"""The maximum number of problems listed; further problems are only counted."""
TITLE_CHARS_MAX = 200
TEXT_CHARS_MAX = 10_000
"""The maximum length of descriptions and learnings; the full output is recorded."""
PROMPT_CHARS_MAX = 100_000
CONTEXT_BYTES_MAX = 16 * 1024
CONTEXT_DEPTH_MAX = 16
ID_CHARS_MAX = 128
STEP = "step"
"""The key of a proposed step in a request's context; see `queue.decisions`."""
IMPROVEMENT, MEDIUM = REQUEST_TYPES[1], PRIORITIES[2]

LEARNING_TYPES = (
    *("codebase-pattern", "build-command", "test-pattern", "api-convention"),
    *("error-workaround", "tool-usage", "architecture-constraint", "dependency-quirk"),
)
"""The types of learnings, which a test compares with those of the journal."""
Item = TypeVar("Item")
Read = Callable[[Any, str], Item]
"""A function that returns a field's valid value, given the value and the field's name."""


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
    """A learning that an agent reports for later runs."""

    content: str
    type: str = LEARNING_TYPES[0]
    context: str = ""


class SaidItems(msgspec.Struct, frozen=True, omit_defaults=True):
    """The items of an answer, apart from the verdict on the run."""

    requests: tuple[SaidRequest, ...] = ()
    """The requests, followed by those for proposed steps."""
    learnings: tuple[SaidLearning, ...] = ()
    completed: tuple[str, ...] = ()
    """The ids of completed steps."""
    pending: tuple[OpenStep, ...] = ()
    """The open steps."""
    problems: tuple[str, ...] = ()
    """The reasons why items were rejected, each with the name of the field."""
    acknowledged: tuple[str, ...] = ()
    """The ids of the notes that the agent has read."""


class _BadError(Exception):
    """The value of a field is invalid."""


def read_said(own: Data) -> SaidItems:
    """Return the items in an agent's answer object."""
    return _Answer(own).said()


class _Answer:
    """An agent's answer object, read item by item; invalid fields become problems."""

    def __init__(self, own: Data) -> None:
        self._own = own
        self._problems: list[str] = []

    def said(self) -> SaidItems:
        requests = self._items(REQUESTS, REQUESTS_MAX, self._request)
        proposed = self._items(PROPOSED, REQUESTS_MAX, self._proposed)
        learnings = self._items(LEARNINGS, LEARNINGS_MAX, self._learning)
        completed = self._of_both(STEPS_DONE, _id)
        pending = self._of_both(STEPS_OPEN, _wanted)
        acknowledged = self._items(ACKNOWLEDGED, REQUESTS_MAX, _id)
        problems = self._problems[:PROBLEMS_MAX]
        if more := len(self._problems) - len(problems):
            problems.append(f"{more} more of its items could not be taken")
        items = (*requests, *proposed), learnings, completed, pending
        return SaidItems(*items, tuple(problems), acknowledged)

    def _items(self, key: str, most: int, read: Read[Item]) -> tuple[Item, ...]:
        if (given := self._own.get(key)) is None:
            return ()
        if not isinstance(given, list):
            self._problems.append(f"{key}: is not a list")
            return ()
        if len(given) > most:
            self._problems.append(f"{key}: only the first {most} of {len(given)} are taken")
        found = []
        for index, value in enumerate(given[:most]):
            try:
                found.append(read(value, f"{key}[{index}]"))
            except _BadError as error:
                self._problems.append(str(error))
        return tuple(found)

    def _of_both(self, keys: tuple[str, ...], read: Read[Item]) -> tuple[Item, ...]:
        """Return the items under two keys, in order and without duplicates."""
        found = [self._items(key, STEPS_MAX, read) for key in keys]
        return tuple(dict.fromkeys(item for items in found for item in items))

    def _request(self, value: Any, field: str) -> SaidRequest:
        given = _mapping(value, field)
        title = _text(given.get("title"), f"{field}.title")
        description = self._optional(given, "description", field, _plain)
        if not description and len(title) > TITLE_CHARS_MAX:
            description = title
        context = self._optional(given, "context", field, _context)
        if context is not None and STEP in context:
            # A person sees only the title, so a request must not contain a hidden step.
            self._problems.append(
                f"{field}.context.{STEP}: only {PROPOSED} carry one; left out"
            )
            context = {key: part for key, part in context.items() if key != STEP}
        return SaidRequest(
            _shortened(_one_line(title), TITLE_CHARS_MAX),
            _priority(given.get("priority"), f"{field}.priority"),
            _request_type(given.get("type"), f"{field}.type"),
            description=_shortened(description, TEXT_CHARS_MAX) if description else None,
            request=self._optional(given, "id", field, _id),
            context=context or None,
        )

    def _proposed(self, value: Any, field: str) -> SaidRequest:
        if isinstance(value, str):
            return proposal(_prompt(value, field))
        given = _mapping(value, field)
        asked = proposal(_prompt(given.get("prompt"), f"{field}.prompt"))
        assert asked.context is not None
        step, beside = asked.context[STEP], {}
        for key, read in (("id", _id), ("insertAfter", _id), ("model", _model)):
            if (found := self._optional(given, key, field, read)) is not None:
                step[key] = found
        if why := self._optional(given, "reasoning", field, _plain):
            beside["reasoning"] = _shortened(why, TEXT_CHARS_MAX)
        title = self._optional(given, "title", field, _plain)
        return SaidRequest(
            _shortened(_one_line(title), TITLE_CHARS_MAX) if title else asked.title,
            self._optional(given, "priority", field, _priority) or asked.priority,
            asked.request_type,
            description=asked.description,
            context={STEP: step, **beside},
        )

    def _learning(self, value: Any, field: str) -> SaidLearning:
        if isinstance(value, str):
            if not value.strip():
                raise _BadError(f"{field}: is empty")
            return SaidLearning(_shortened(value.strip(), TEXT_CHARS_MAX))
        given = _mapping(value, field)
        content = _text(given.get("content"), f"{field}.content")
        kind = self._optional(given, "type", field, _learning_type)
        where = _one_line(self._optional(given, "context", field, _plain) or "")
        where = _shortened(where, TITLE_CHARS_MAX)
        content = _shortened(content, TEXT_CHARS_MAX)
        return SaidLearning(content, kind or LEARNING_TYPES[0], where)

    def _optional(self, given: Data, key: str, field: str, read: Read[Item]) -> Item | None:
        """Return a field's value; if it is invalid, record a problem and return None."""
        if given.get(key) is None:
            return None
        try:
            return read(given[key], f"{field}.{key}")
        except _BadError as error:
            self._problems.append(f"{error}; left out")
            return None


def proposal(prompt: str, *, identity: str | None = None) -> SaidRequest:
    """Return a request for a decision about a proposed step."""
    step = {"prompt": prompt} if identity is None else {"id": identity, "prompt": prompt}
    return SaidRequest(
        _shortened(_one_line(prompt.strip().partition("\n")[0]), TITLE_CHARS_MAX),
        MEDIUM,
        IMPROVEMENT,
        description=_shortened(prompt.strip(), TEXT_CHARS_MAX),
        context={STEP: step},
    )


def _wanted(value: Any, field: str) -> OpenStep:
    if isinstance(value, str):
        return OpenStep(_prompt(value, field))
    given = _mapping(value, field, "neither a text nor an object")
    identity, prompt = given.get("id"), given.get("prompt")
    if identity is not None:
        identity = _id(identity, f"{field}.id")
        if prompt is None:
            return OpenStep(None, identity)
    return OpenStep(_prompt(prompt, f"{field}.prompt"), identity)


def _id(value: Any, field: str) -> str:
    is_text = isinstance(value, str) and 0 < len(value) <= ID_CHARS_MAX
    if not (is_text and value.isprintable()):
        raise _BadError(f"{field}: must be 1 to {ID_CHARS_MAX} printable characters")
    return str(value)


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _BadError(f"{field}: is missing or empty")
    return value.strip()


def _plain(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _BadError(f"{field}: is not text")
    return value.strip()


def _word(allowed: tuple[str, ...], value: Any, field: str) -> str:
    if value not in allowed:
        raise _BadError(f"{field}: must be one of {', '.join(allowed)}")
    return str(value)


_priority, _request_type = partial(_word, PRIORITIES), partial(_word, REQUEST_TYPES)
_model, _learning_type = partial(_word, MODELS), partial(_word, LEARNING_TYPES)


def _context(value: Any, field: str) -> Data:
    given = _mapping(value, field)
    if not _is_sound(given, CONTEXT_DEPTH_MAX):
        problem = "is nested too deeply, or holds a number that is too large"
        raise _BadError(f"{field}: {problem}")
    if len(msgspec.json.encode(given)) > CONTEXT_BYTES_MAX:
        raise _BadError(f"{field}: is longer than {CONTEXT_BYTES_MAX // 1024} KiB")
    return given


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
