"""Requests for the operator queue, and the rules that decide on them, from a stranger."""

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.plan.insertion_points import parse_position
from sprintlog.engine.sprint.queue.requests import SubmittedRequest
from sprintlog.engine.sprint.queue.rules import Rule
from sprintlog.engine.sprint.state.queue import QUEUE
from sprintlog.projections.state_files.yaml.reader import load as load_yaml
from sprintlog.projections.state_files.yaml.writer import dump

from . import fields
from .files import load
from .problems import check_shape

Data = dict[str, Any]


class NewRequest(fields.Closed):
    """A request that is handed in: what nobody can know of it yet is left out."""

    id: fields.Identity | None = None
    title: fields.Text
    description: fields.Text | None = None
    priority: fields.Priority
    type: fields.RequestType
    status: Literal["pending"] | None = None
    created_at: fields.Moment = None
    discovered_in: fields.Text | None = None
    context: dict[str, Any] | None = None


class NewRequests(fields.Open):
    """Several requests that are handed in together."""

    requests: list[NewRequest]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


_BELONGS_TO = {
    "position": "approve",
    "model": "approve",
    "deferred_until": "defer",
    "rejection_reason": "reject",
}


class QueueRule(fields.Closed):
    """A rule of `queue decide --auto`: what it decides, of which requests."""

    name: fields.Identity
    decision: fields.DecisionWord
    priority: Annotated[list[fields.Priority], BeforeValidator(_listed)] | None = None
    type: Annotated[list[fields.RequestType], BeforeValidator(_listed)] | None = None
    reasoning: Annotated[str, Field(strict=True, min_length=1)] | None = None
    position: fields.Text | None = None
    model: fields.Model | None = None
    deferred_until: fields.Deferral | None = None
    rejection_reason: fields.Text | None = None

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        for field, decision in _BELONGS_TO.items():
            if getattr(self, field) is not None and self.decision != decision:
                raise PydanticCustomError(
                    "belongs",
                    "{field} belongs to {decision}, this rule says {said}",
                    {
                        "field": field.replace("_", "-"),
                        "decision": decision,
                        "said": self.decision,
                    },
                )
        return self


class QueueRules(fields.Closed):
    """The rules of `queue decide --auto`; the first that fits decides."""

    rules: Annotated[list[QueueRule], Field(min_length=1)]


class Handed(NamedTuple):
    """Requests that were handed in."""

    requests: list[SubmittedRequest]
    lines: list[int] | None
    """The line of each; None when they stand in one list."""


def read_requests(text: str, *, file: str) -> Handed:
    """Return the requests of a JSON array, or of JSON lines, one on each."""
    if text.lstrip().startswith("["):
        document = {"requests": _load(text, file=file, line=None)}
        checked = check_shape(NewRequests, document, file)
        return Handed([_asked(one) for one in checked.requests], None)
    requests, lines = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            request = _load(line, file=file, line=number)
            requests.append(_asked(check_shape(NewRequest, request, file, line=number)))
            lines.append(number)
    return Handed(requests, lines)


def read_context(text: str, *, field: str) -> Data:
    """Return the context of a request from its JSON object."""
    context = load(text.encode(errors="surrogateescape"), field=field)
    if not isinstance(context, dict):
        raise InvalidInputError("must be a JSON object", field=field)
    dump({QUEUE: [{"context": context}]})
    return context


def read_rules(content: bytes, *, file: str) -> list[Rule]:
    """Return the rules of a YAML or JSON file, in their order."""
    document = load_yaml(content, file=file)
    rules: list[Rule] = []
    for index, said in enumerate(check_shape(QueueRules, document, file).rules):
        where = f"rules[{index}]"
        if said.name in [rule.name for rule in rules]:
            problem = f"{said.name!r} is the name of another rule"
            raise InvalidInputError(problem, file=file, field=f"{where}.name")
        rules.append(_rule(said, file=file, where=where))
    return rules


def _load(text: str, *, file: str, line: int | None) -> Any:
    value = load(text.encode(errors="surrogateescape"), file=file, line=line)
    # What a state file could not show must not get into the log.
    dump({QUEUE: value})
    return value


def _asked(one: NewRequest) -> SubmittedRequest:
    said = one.model_dump(exclude={"id", "type", "status"})
    return SubmittedRequest(request=one.id, request_type=one.type, **said)


def _rule(one: QueueRule, *, file: str, where: str) -> Rule:
    said = one.model_dump(exclude={"priority", "type"}, exclude_none=True)
    if (text := one.position) is not None:
        said["position"] = parse_position(text)
        if said["position"] is None:
            problem = f"{text[:60]!r} is no position"
            raise InvalidInputError(problem, file=file, field=f"{where}.position")
    return Rule(priorities=tuple(one.priority or ()), types=tuple(one.type or ()), **said)
