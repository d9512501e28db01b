"""An agent's prompt, built from the sprint, the journal and the loop's prompt file."""

from msgspec.structs import replace

from ..adapters.folders import read_text
from ..sprint.agent.actions import GATE, Action
from ..sprint.agent.prompt import LEARNINGS_CHARS_MAX, PHASE_ANSWER, Telling, handed
from ..sprint.plan.templates import PromptTemplate, read_template
from ..sprint.state.sprint import Sprint
from .workspace import JOURNAL, ServiceWorkspace


def with_prompt(
    workspace: ServiceWorkspace,
    sprint: Sprint,
    action: Action,
    *,
    file: str | None = None,
    now: bool = True,
    answer: str = PHASE_ANSWER,
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
    return handed(sprint, action, Telling(learnings, template, answer))


def template_in(workspace: ServiceWorkspace, file: str) -> PromptTemplate:
    """Return the template in a file; errors name the file and line."""
    return read_template(read_text(workspace.location.root, file), file=file)


def _learnings(workspace: ServiceWorkspace) -> tuple[str, ...]:
    if not workspace.log.version(JOURNAL):
        return ()
    # Imported here: without an open journal, `next` does not require its modules.
    from ..journal.briefing import lines_within

    learnings = workspace.documents.current(JOURNAL).learnings
    return tuple(lines_within(learnings, LEARNINGS_CHARS_MAX))
