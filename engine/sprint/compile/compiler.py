"""From a SPRINT.yaml and its workflows to the plan that `create_sprint` takes."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...errors import RefusedError
from ...log.envelope import DOCUMENT_BYTES_MAX
from ..plan.create import check_sprint_id
from ..state.given import text_of
from ..state.tree import Data
from .budget import Budget, TooLargeError
from .hierarchy import Hierarchy
from .inline import Outline
from .items import collections_of, missing_items
from .problems import Definition, Problem, Problems, is_given
from .settings import settings_of
from .workflows import Workflows, check_references, workflow_of


class Compiled(NamedTuple):
    """What came out: a plan, or None where an error forbids one."""

    plan: Data | None
    problems: list[Problem]
    """Errors and warnings, in the order they were found."""


def compile_sprint(
    sprint: Definition,
    workflows: Workflows,
    *,
    sprint_id: str,
    available: Sequence[str] = (),
    searched: str = ".claude/workflows",
) -> Compiled:
    """Return the plan of a SPRINT.yaml, and everything that is wrong with it.

    `workflows` holds what was read of the workflows it names, directly or through
    others; `available` and `searched` say what else could be named, and where. The shape
    of the files is checked by whoever read them: what has another one counts as absent.
    """
    problems = Problems()
    _check_id(sprint, sprint_id, problems)
    check_references(sprint, workflows, problems, available=available, searched=searched)
    name = workflow_of(sprint.data)
    main = workflows.get(name) if name else None
    settings = settings_of(sprint, main, problems)
    collections = collections_of(sprint, problems)
    if main is None and not is_given(sprint.data, "goal"):
        missing_items(sprint, problems)
    budget = Budget()
    outline = Outline(workflows, problems, budget)
    hierarchy = Hierarchy(
        sprint, outline, collections, problems, budget, sprint_id=sprint_id
    )
    plan: Data = {"sprint-id": sprint_id, **settings}
    try:
        if name and main and (settings.get("mode") != "ralph" or "phases" in main.data):
            plan["phases"] = hierarchy.phases(name)
        # Statuses, pointer and figures come on top; the log has the last word.
        if len(msgspec.json.encode(plan)) > DOCUMENT_BYTES_MAX:
            raise TooLargeError
        if main is not None:
            hierarchy.check_unused()
    except TooLargeError:
        problems.add(
            "plan-too-large",
            sprint,
            (),
            f"the plan would be larger than {DOCUMENT_BYTES_MAX // 2**20} MiB",
            hint="split the sprint, or keep long texts in files that prompts name",
        )
    found = problems.found
    failed = any(not problem.is_warning for problem in found)
    return Compiled(None if failed else plan, found)


def _check_id(sprint: Definition, sprint_id: str, problems: Problems) -> None:
    try:
        check_sprint_id(sprint_id)
    except RefusedError as error:
        problems.add(
            "bad-id",
            sprint,
            ("sprint-id",) if text_of(sprint.data, "sprint-id") else (),
            error.message,
            hint="`sprint-id` in SPRINT.yaml, `--id` or the folder's name gives it",
        )
