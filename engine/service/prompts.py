"""An agent's prompt, built from the sprint, the journal and the loop's prompt file."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Unpack

from msgspec.structs import replace

from ..adapters.folders import read_text
from ..log.event import Event
from ..sprint.agent import prompt
from ..sprint.agent.actions import GATE, Action
from ..sprint.events import NoteDelivered
from ..sprint.plan.templates import PromptTemplate, read_template
from ..sprint.state import notes
from ..sprint.state.sprint import Sprint
from .port import Envelope
from .streams.catalogue import CODEC
from .workspace import JOURNAL, ServiceWorkspace


def with_prompt(
    workspace: ServiceWorkspace,
    sprint: Sprint,
    action: Action,
    *,
    file: str | None = None,
    now: bool = True,
    answer: str = prompt.PHASE_ANSWER,
) -> Action:
    """Return an action with the prompt for its agent.

    `file` is the path of a template, relative to the work tree's root; it is read on each
    call. Raise `NotFoundError` or `InvalidInputError` if it cannot be used. Unless `now` is
    true, the prompt contains no learnings from the journal. `answer` describes the format
    of an agent's answer for a phase.
    """
    if action.prompt is None:
        return action
    if file is not None and action.do == GATE:
        # The prompt of a gate describes the repair; the loop's template does not apply.
        return replace(action, task=action.prompt)
    template = None if file is None else template_in(workspace, file)
    learnings = _learnings(workspace) if now else ()
    return prompt.handed(sprint, action, prompt.Telling(learnings, template, answer))


@contextmanager
def passing_notes(
    workspace: ServiceWorkspace, sprint_id: str, to: str, **envelope: Unpack[Envelope]
) -> Iterator[str]:
    """Record the delivery of the notes that are due, and yield their part of the prompt.

    `to` is the recipient; without it, nothing is delivered. Unless it is a run, the
    delivery is confirmed after the block, and unknown deliveries are repeated only if no
    run is in progress.
    """
    is_run = to.startswith(notes.RUN)

    def decide(sprint: Sprint, at: str) -> list[Event]:
        is_free = is_run or sprint.knowledge.loops.open is None
        return notes.deliver(sprint.knowledge.notes, to, may_repeat=is_free)

    known = workspace.sprint(sprint_id).knowledge.notes
    if not to or all(note.is_certain for note in known.values()):
        yield ""
        return
    done = workspace.handle_with(sprint_id, decide, **envelope)
    sent = [x for x in map(CODEC.decode, done.events) if isinstance(x, NoteDelivered)]
    yield prompt.notes_part(done.sprint.knowledge.notes, sent)
    if sent and not is_run:
        workspace.handle_with(
            sprint_id, lambda one, at: notes.confirm(one.knowledge.notes, to), **envelope
        )


def template_in(workspace: ServiceWorkspace, file: str) -> PromptTemplate:
    """Return the template in a file; errors name the file and line."""
    return read_template(read_text(workspace.location.root, file), file=file)


def _learnings(workspace: ServiceWorkspace) -> tuple[str, ...]:
    if not workspace.log.version(JOURNAL):
        return ()
    # Imported here: without an open journal, `next` does not require its modules.
    from ..journal.briefing import lines_within

    learnings = workspace.documents.current(JOURNAL).learnings
    return tuple(lines_within(learnings, prompt.LEARNINGS_CHARS_MAX))
