"""What becomes of what an agent says beside how its run ended; rules.

Requests are knowledge: they are queued whatever the run meant. None of them is decided
here, and the same one said again is the one that is there.
"""

from ...log.event import Event
from ..answers.items import REQUESTS_MAX, SaidItems, SaidRequest, proposal
from ..events import AgentRan, NoteAdded
from ..state.sprint import Sprint


def with_said(
    sprint: Sprint,
    decided: list[Event],
    said: SaidItems | None,
    at: str,
    *,
    steps: bool = True,
) -> list[Event]:
    """Return what was decided on an agent's run, and behind the run what it said."""
    if said is None or not decided or not isinstance(decided[0], AgentRan):
        return decided
    taken = take_said(sprint, said, at, steps=steps, phase=decided[0].phase or None)
    return [decided[0], *taken, *decided[1:]]


def take_said(
    sprint: Sprint,
    said: SaidItems,
    at: str,
    *,
    steps: bool = True,
    phase: str | None = None,
) -> list[Event]:
    """Return what follows from what was said; without `steps` those are seen to elsewhere.

    `phase` is what the agent worked on.
    """
    # Imported here: few answers say anything.
    from .requests import QueueRequests, SubmittedRequest, queue_requests

    texts = [f"the agent's answer: {problem}" for problem in said.problems]
    texts += [
        f"the agent learned ({one.type}): {one.content}"
        + (f" (where: {one.context})" if one.context else "")
        for one in said.learnings
    ]
    events: list[Event] = [NoteAdded(text, phase) for text in texts]
    requests = said.requests
    if steps and (said.completed or said.pending):
        if sprint.plan.is_ralph:
            from ..plan.goal_steps import take_steps

            events += take_steps(sprint, completed=said.completed, pending=said.pending)
        else:
            named = [one for one in said.pending if one.prompt is not None]
            requests += tuple(
                proposal(str(one.prompt), identity=one.id) for one in named[:REQUESTS_MAX]
            )
            events += _no_steps(said, phase)
    asked = [
        SubmittedRequest(
            one.title,
            one.priority,
            one.request_type,
            description=one.description,
            request=identity,
            context=one.context,
        )
        for one, identity in _new(sprint, requests)
    ]
    return [*events, *queue_requests(sprint, QueueRequests(asked), at)] if asked else events


def _no_steps(said: SaidItems, phase: str | None) -> list[Event]:
    """Note the ids of steps that a sprint without a goal has not."""
    bare = [wanted.id for wanted in said.pending if wanted.prompt is None]
    named = [*said.completed, *filter(None, bare)]
    if not named:
        return []
    shown = ", ".join(map(repr, named[:5])) + (" …" if len(named) > 5 else "")
    return [NoteAdded(f"the agent names steps, and the sprint has no goal: {shown}", phase)]


Key = tuple[str, str, str]


def _new(
    sprint: Sprint, requests: tuple[SaidRequest, ...]
) -> list[tuple[SaidRequest, str | None]]:
    """Return the requests that nobody made before, each with its id if it may have it.

    One with the same title, text and type as another is that one, whatever became of it.
    """
    from .requests import is_allotted

    known, there = sprint.knowledge, set[Key]()
    for _, event in known.requests.values():
        there.add((event.title, event.description, event.request_type))
    for entry in sprint.queue:
        if isinstance(entry, dict):
            fields = (entry.get(name) for name in ("title", "description", "type"))
            title, description, kind = (str(value) for value in fields)
            there.add((title, description, kind))
    ids = {*known.requests, *known.request_ids}
    found: list[tuple[SaidRequest, str | None]] = []
    for one in requests:
        key = (one.title, one.description or one.title, one.request_type)
        if key in there:
            continue
        there.add(key)
        identity = one.request
        if identity is not None and (identity in ids or is_allotted(identity)):
            identity = None
        if identity is not None:
            ids.add(identity)
        found.append((one, identity))
    return found
