"""Validation of untrusted operator queue requests and of the rules that decide on them."""

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.sprint.plan.insertion_points import parse_position
from sprintlog.engine.sprint.plan.shape import Identity, Model, Shape, one_of
from sprintlog.engine.sprint.queue.requests import SubmittedRequest
from sprintlog.engine.sprint.queue.rules import Rule
from sprintlog.engine.sprint.state import words
from sprintlog.engine.sprint.state.queue import QUEUE
from sprintlog.projections.state_files.yaml.reader import load as load_yaml
from sprintlog.projections.state_files.yaml.writer import dump

from .files import load, naming
from .shapes import shaped

Data = dict[str, Any]


Word = Annotated[str, msgspec.Meta(min_length=1)]
Priority = Annotated[str, one_of(words.PRIORITIES)]
RequestType = Annotated[str, one_of(words.REQUEST_TYPES)]


class NewRequest(Shape, kw_only=True):
    """A submitted request without the fields that sprintlog sets."""

    id: Identity | None = None
    title: str
    description: str | None = None
    priority: Priority
    type: RequestType
    status: Literal["pending"] | None = None
    created_at: str | None = None
    discovered_in: str | None = None
    context: Data | None = None


class NewRequests(Shape):
    """Several requests submitted together."""

    requests: list[NewRequest]


class QueueRule(Shape):
    """A rule of `queue decide --auto`: its decision, and the requests it applies to."""

    name: Identity
    decision: Annotated[str, one_of(words.DECISIONS)]
    priority: list[Priority] | Priority | None = None
    type: list[RequestType] | RequestType | None = None
    reasoning: Word | None = None
    position: str | None = None
    model: Model | None = None
    deferred_until: Annotated[str, one_of(words.DEFERRALS)] | None = None
    rejection_reason: str | None = None


class QueueRules(Shape):
    """The rules of `queue decide --auto`; the first matching rule decides."""

    rules: Annotated[list[QueueRule], msgspec.Meta(min_length=1)]


_BELONGS_TO = {
    "position": "approve",
    "model": "approve",
    "deferred_until": "defer",
    "rejection_reason": "reject",
}


class Handed(NamedTuple):
    """Submitted requests."""

    requests: list[SubmittedRequest]
    lines: list[int] | None
    """The line number of each request; None if the requests are a JSON array."""


def read_requests(text: str, *, file: str) -> Handed:
    """Return the requests from a JSON array, or from JSON lines with one request each."""
    if text.lstrip().startswith("["):
        document = {"requests": _load(text, file=file, line=None)}
        checked = shaped(NewRequests, document, file=file, is_closed=True)
        return Handed([_asked(one) for one in checked.requests], None)
    requests, lines = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            given = _load(line, file=file, line=number)
            request = shaped(NewRequest, given, file=file, line=number, is_closed=True)
            requests.append(_asked(request))
            lines.append(number)
    return Handed(requests, lines)


def read_context(text: str, *, field: str) -> Data:
    """Return a request's context, parsed from a JSON object."""
    context = load(text.encode(errors="surrogateescape"), field=field)
    if not isinstance(context, dict):
        raise InvalidInputError("must be a JSON object", field=field)
    dump({QUEUE: [{"context": context}]})
    return context


def read_rules(content: bytes, *, file: str) -> list[Rule]:
    """Return the rules from a YAML or JSON file, in order."""
    document = load_yaml(content, file=file)
    rules: list[Rule] = []
    given = shaped(QueueRules, document, file=file, is_closed=True)
    for index, one in enumerate(given.rules):
        with naming(file, f"rules[{index}]"):
            rules.append(_rule(one, [rule.name for rule in rules], f"rules[{index}]"))
    return rules


def _load(text: str, *, file: str, line: int | None) -> Any:
    value = load(text.encode(errors="surrogateescape"), file=file, line=line)
    # Values that a state file cannot represent must not be recorded.
    dump({QUEUE: value})
    return value


def _asked(one: NewRequest) -> SubmittedRequest:
    said = structs.asdict(one)
    del said["status"]
    return SubmittedRequest(request=said.pop("id"), request_type=said.pop("type"), **said)


def _rule(one: QueueRule, before: list[str], where: str) -> Rule:
    said = {name: x for name, x in structs.asdict(one).items() if x is not None}
    if one.name in before:
        problem = f"another rule is already named {one.name!r}"
        raise RefusedError(problem, field=f"{where}.name")
    for field, decision in _BELONGS_TO.items():
        if field in said and one.decision != decision:
            raise RefusedError(
                f"{field.replace('_', '-')} requires decision {decision}, but this "
                f"rule has {one.decision}"
            )
    if one.position is not None:
        said["position"] = parse_position(one.position)
        if said["position"] is None:
            problem = f"{one.position[:60]!r} is not a valid position"
            raise RefusedError(problem, field=f"{where}.position")
    priorities, types = said.pop("priority", ()), said.pop("type", ())
    return Rule(priorities=_listed(priorities), types=_listed(types), **said)


def _listed(words: str | list[str]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)
