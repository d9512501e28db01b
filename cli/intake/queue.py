"""Requests for the operator queue, and the rules that decide on them, from a stranger."""

from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.plan.spots import parse_position
from sprintlog.engine.sprint.queue.requests import SubmittedRequest
from sprintlog.engine.sprint.queue.rules import Rule
from sprintlog.engine.sprint.queue.view import QUEUE
from sprintlog.projections.state_files.yaml.reader import load as load_yaml
from sprintlog.projections.state_files.yaml.writer import dump

from .json_reader import load
from .progress import check_shape
from .queue_and_ralph_models import NewRequest, NewRequests, QueueRules

Data = dict[str, Any]


class Handed(NamedTuple):
    """Requests that were handed in."""

    requests: list[SubmittedRequest]
    lines: list[int] | None
    """The line of each; None when they stand in one list."""


def read_requests(text: str, *, file: str) -> Handed:
    """Return the requests of a JSON array, or of JSON lines, one on each."""
    if text.lstrip().startswith("["):
        document = {"requests": _load(text, file=file, line=None)}
        check_shape(NewRequests, document, file)
        return Handed([_asked(one) for one in document["requests"]], None)
    requests, lines = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            request = _load(line, file=file, line=number)
            check_shape(NewRequest, request, file, line=number)
            requests.append(_asked(request))
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
    check_shape(QueueRules, document, file)
    rules: list[Rule] = []
    for index, said in enumerate(document["rules"]):
        where = f"rules[{index}]"
        if said["name"] in [rule.name for rule in rules]:
            problem = f"{said['name']!r} is the name of another rule"
            raise InvalidInputError(problem, file=file, field=f"{where}.name")
        rules.append(_rule(said, file=file, where=where))
    return rules


def _load(text: str, *, file: str, line: int | None) -> Any:
    try:
        value = load(text.encode(errors="surrogateescape"), line=line)
    except InvalidInputError as error:
        problem = str(error.fields["problem"])
        raise InvalidInputError(problem, file=file, line=line) from error
    # What a state file could not show must not get into the log.
    dump({QUEUE: value})
    return value


def _asked(said: Data) -> SubmittedRequest:
    return SubmittedRequest(
        said["title"],
        said["priority"],
        said["type"],
        description=said.get("description"),
        request=said.get("id"),
        created_at=said.get("created-at"),
        discovered_in=said.get("discovered-in"),
        context=said.get("context"),
    )


def _rule(said: Data, *, file: str, where: str) -> Rule:
    given: Data = {
        "reasoning": said.get("reasoning"),
        "model": said.get("model"),
        "deferred_until": said.get("deferred-until"),
        "rejection_reason": said.get("rejection-reason"),
    }
    if (text := said.get("position")) is not None:
        given["position"] = parse_position(text)
        if given["position"] is None:
            problem = f"{text[:60]!r} is no position"
            raise InvalidInputError(problem, file=file, field=f"{where}.position")
    given = {name: value for name, value in given.items() if value is not None}
    priorities, types = (_all(said.get(name)) for name in ("priority", "type"))
    return Rule(said["name"], said["decision"], priorities, types, **given)


def _all(said: str | list[str] | None) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said or ())
