"""Read-only questions: the `--json` answers of commands, by command name.

Options are parameters: `sprintlog status --sprint auth --at iter:3` is the question
`status` with the parameters `sprint` and `at`. Each answer conforms to its command's
schema.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.service.agent_sessions import known_sessions
from sprintlog.engine.service.driver.races import choose_race
from sprintlog.engine.service.lost_runs import is_alive
from sprintlog.engine.service.prompts import with_prompt
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.sprint.agent.prompt import TOOL_ANSWER
from sprintlog.engine.sprint.queue.requests import find_request
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.tree import gate_status

from .history import blame, differences
from .history.kept_decisions import decisions_at
from .state_files.progress_json import as_data
from .state_files.tracker import tracker_data
from .text.stops import status_answer
from .views import (
    answers,
    events,
    history,
    iterations,
    journal,
    quality,
    queue,
    runs,
    sessions,
    work,
)
from .views.races import race_answer
from .workspace import Workspace

EVENTS_MAX = 1000
"""The maximum number of events in an answer; use `after` to request more."""


class Asked(NamedTuple):
    """A question being answered, with its workspace and its parameters."""

    workspace: Workspace
    given: Mapping[str, str]

    @property
    def at(self) -> str | None:
        """Return the requested point; None means now."""
        return self.given.get("at")

    def sprint(self) -> Sprint:
        """Return the requested sprint, now or as of a point in the log."""
        name = self.workspace.choose(self.given.get("sprint"))
        sprint = self.workspace.sprint(name, at=self.at)
        check_exists(sprint)
        return sprint

    def number(self, name: str, default: int = 0) -> int:
        """Return a parameter as a number; raise `InvalidInputError` if it is invalid."""
        return number(self.given.get(name, str(default)), field=name)

    def flag(self, name: str) -> bool:
        """Return a flag; raise `InvalidInputError` unless its value is true or false."""
        text = self.given.get(name, "false")
        if text not in ("true", "false"):
            raise InvalidInputError(f"{text[:40]!r} must be true or false", field=name)
        return text == "true"

    def text(self, name: str) -> str:
        """Return a required parameter; raise `InvalidInputError` if it is missing."""
        if name not in self.given:
            raise InvalidInputError("is required", field=name)
        return self.given[name]


def number(text: str, *, field: str) -> int:
    """Return the number in the text; raise `InvalidInputError` if it is not a number."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidInputError(f"invalid number {text[:40]!r}", field=field)
    return int(text)


class Question(NamedTuple):
    """A question: the names of its parameters, and the function that answers it."""

    takes: tuple[str, ...]
    answer: Callable[[Asked], Any]


def answer(workspace: Workspace, command: str, given: Mapping[str, str]) -> Any:
    """Return a command's `--json` answer as a struct.

    Raise `NotFoundError` for a command without a question, and `InvalidInputError` for an
    unknown or invalid parameter.
    """
    question = QUESTIONS.get(command)
    if question is None:
        raise _no_answer(command)
    for name in given:
        if name not in question.takes:
            raise InvalidInputError(
                f"is unknown; allowed: {', '.join(question.takes) or 'none'}",
                field=name[:40],
            )
    return question.answer(Asked(workspace, given))


def _no_answer(command: str) -> NotFoundError:
    said = f"{command[:60]!r} is not available here"
    return NotFoundError(said, unknown=(command, QUESTIONS))


def _alerts(asked: Asked, sprint: Sprint) -> Any:
    number = asked.number("iteration") if "iteration" in asked.given else None
    judged, of_all = evaluate(asked.workspace.log, sprint), asked.flag("all")
    found = quality.iterations_of(judged, number, of_all=of_all)
    return [alert for one in found for alert in one.alerts]


def _audit(asked: Asked, sprint: Sprint) -> Any:
    found = decisions_at(asked.workspace, sprint.id, sprint.version)
    return history.Audit(sprint.id, sprint.version, found)


def _blame(asked: Asked) -> Any:
    name = asked.workspace.choose(asked.given.get("sprint"))
    found = blame.blame(asked.workspace, name, [asked.text("field")], at=asked.at)
    return history.blamed(next(iter(found)))


def _difference(asked: Asked) -> Any:
    found = differences.difference(
        asked.workspace,
        asked.text("from"),
        asked.given.get("to"),
        sprint_id=asked.given.get("sprint"),
        file=asked.given.get("file", "progress"),
    )
    return history.difference(found)


def _events(asked: Asked) -> Any:
    limit = min(asked.number("limit", EVENTS_MAX), EVENTS_MAX)
    after, stream = asked.number("after"), asked.given.get("stream", "")
    log = asked.workspace.log
    if "stream" not in asked.given:
        stream = sprint_stream(asked.workspace.choose(asked.given.get("sprint")))
    found = log.read_stream(stream, after=after) if stream else log.read(after=after)
    return [*map(events.envelope, islice(found, limit))]


def _event(asked: Asked) -> Any:
    position = asked.number("position")
    read = asked.workspace.log.read(after=max(position - 1, 0), until=position)
    if (found := next(read, None)) is None:
        raise NotFoundError(f"there is no position {position}", position=position)
    return events.envelope(found)


def _gates(asked: Asked, sprint: Sprint) -> Any:
    every = dict.fromkeys(sprint.plan.tree.nodes.values())
    gated = [node for node in every if gate_status(node.data) is not None]
    return [work.gate(sprint, node, is_alive) for node in gated]


def _journal_status(asked: Asked) -> Any:
    document = asked.workspace.document(at=asked.at)
    state = asked.workspace.journals.at_version(JOURNAL, document.version)
    return journal.figures(document, state, asked.given.get("prd"))


def _next(asked: Asked, sprint: Sprint) -> Any:
    action = runs.what_is_next(asked.workspace, sprint, at=asked.at)
    action = with_prompt(asked.workspace, sprint, action, now=asked.at is None)
    return work.next_answer(sprint.id, action)


def next_action(
    workspace: Workspace, sprint_id: str | None = None, *, prompt_file: str | None = None
) -> work.Next:
    """Return the next action, whose prompt asks the agent to answer with a tool.

    `prompt_file` is the path of a prompt template in the work tree.
    """
    sprint = Asked(workspace, {} if sprint_id is None else {"sprint": sprint_id}).sprint()
    action = runs.what_is_next(workspace, sprint)
    action = with_prompt(workspace, sprint, action, file=prompt_file, answer=TOOL_ANSWER)
    return work.next_answer(sprint.id, action)


def _queue(asked: Asked, sprint: Sprint) -> Any:
    words = ("status", "priority", "type")
    wanted = {name: (asked.given[name],) for name in words if name in asked.given}
    return [queue.request(sprint, entry) for entry in queue.matching(sprint, wanted)]


def _request(asked: Asked, sprint: Sprint) -> Any:
    entry = find_request(sprint, asked.text("request"))
    return queue.with_history(sprint, entry, asked.workspace.events(sprint.id))


def _race(asked: Asked) -> Any:
    log, name = asked.workspace.log, asked.given.get("race")
    return race_answer(asked.workspace, choose_race(log, name))


def _report(asked: Asked, sprint: Sprint) -> Any:
    action = runs.what_is_next(asked.workspace, sprint, at=asked.at)
    stopped = action if action.do in work.STOPPED else None
    judged = evaluate(asked.workspace.log, sprint)
    return iterations.summary(asked.workspace, judged, stopped)


def _rules(asked: Asked, sprint: Sprint) -> Any:
    found = sprint.knowledge.tracker.rules_at(sprint.version)
    return quality.rules(found, sprint.knowledge.loops.budgets)


def _schema(asked: Asked) -> Any:
    name = asked.given.get("answer")
    if name is not None and name not in QUESTIONS:
        raise _no_answer(name)
    return answers.schemas(name)


def _session(asked: Asked) -> Any:
    log = asked.workspace.log
    if "session" in asked.given:
        stream = known_sessions.choose_session(log, asked.given["session"])
        return sessions.session_answer(log, stream)
    names = known_sessions.sessions(log)
    return [sessions.session_answer(log, f"session/{name}") for name in names]


def _sprints(asked: Asked) -> Any:
    workspace = asked.workspace
    return [
        work.SprintRow(name, workspace.status_of(name, version), version)
        for name, version in workspace.sprints().items()
    ]


def _of_sprint(answered: Callable[[Asked, Sprint], Any], *takes: str) -> Question:
    """Return a question about a sprint, either now or as of a point in the log."""
    return Question(("sprint", "at", *takes), lambda asked: answered(asked, asked.sprint()))


def _of_judged(answered: Callable[[Workspace, Judged], Any]) -> Question:
    """Return a question about a sprint's judged iterations."""
    return _of_sprint(
        lambda asked, sprint: answered(
            asked.workspace, evaluate(asked.workspace.log, sprint)
        )
    )


QUESTIONS: dict[str, Question] = {
    "audit": _of_sprint(_audit),
    "diff": Question(("sprint", "from", "to", "file"), _difference),
    "gate show": _of_sprint(_gates),
    "iteration alerts": _of_sprint(_alerts, "iteration", "all"),
    "iteration best": _of_judged(lambda _, judged: iterations.best(judged)),
    "iteration rules show": _of_sprint(_rules),
    "journal status": Question(("at", "prd"), _journal_status),
    "list": _of_judged(iterations.every),
    "log": Question(("sprint", "stream", "after", "limit"), _events),
    "next": _of_sprint(_next),
    "queue list": _of_sprint(_queue, "status", "priority", "type"),
    "queue show": _of_sprint(_request, "request"),
    "race show": Question(("race",), _race),
    "report": _of_sprint(_report),
    "schema": Question(("answer",), _schema),
    "show best": _of_judged(lambda _, judged: tracker_data(judged)),
    "show event": Question(("position",), _event),
    "show journal": Question(("at",), lambda x: as_data(x.workspace.document(at=x.at))),
    "show progress": _of_sprint(lambda _, sprint: sprint.document),
    "show session": Question(("session",), _session),
    "sprint list": Question((), _sprints),
    "status": _of_sprint(lambda x, sprint: status_answer(x.workspace, sprint, at=x.at)),
    "why": Question(("sprint", "at", "field"), _blame),
}
"""All questions, by the name of the corresponding command."""
