"""From a SPRINT.yaml and its workflows to the plan that `create_sprint` takes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ...errors import RefusedError
from ...log.envelope import DOCUMENT_BYTES_MAX
from ..document.shape import KEPT
from ..goal.settings import IDLE_THRESHOLD, NOT_LEFT, RALPH
from ..plan.create import check_sprint_id
from ..state.given import list_of, mapping_of, text_of
from ..state.tree import Data
from .budget import Budget, TooLargeError
from .hierarchy import Hierarchy
from .inline import Outline
from .items import collections_of, missing_items
from .problems import Definition, Problem, Problems, is_given, nearest
from .workflows import Workflows, check_references, workflow_of

_PROMPTS = ("goal-prompt", "reflection-prompt")


def settings_of(sprint: Definition, main: Definition | None, problems: Problems) -> Data:
    """Return the plan's top-level fields but its phases, in the order they are shown."""
    data = sprint.data
    workflow: Data = main.data if main is not None else {}
    is_ralph = (text_of(data, "mode") or text_of(workflow, "mode")) == RALPH
    settings: Data = {}
    if is_ralph:
        settings["mode"] = RALPH
        if not is_given(data, "goal"):
            problems.add(
                "missing-goal",
                sprint,
                (),
                "a Ralph sprint needs a `goal`",
                hint="say what is to be reached, and how one can see it",
            )
    if goal := text_of(data, "goal"):
        settings["goal"] = goal
    ralph = {**mapping_of(workflow, "ralph"), **mapping_of(data, "ralph")}
    if is_ralph or ralph:
        settings["ralph"] = {"idle-threshold": IDLE_THRESHOLD, **ralph}
    settings |= {key: workflow[key] for key in _PROMPTS if text_of(workflow, key)}
    if hooks := _hooks(sprint, main, problems):
        settings["per-iteration-hooks"] = hooks
    settings |= _kept(data, workflow)
    if retry := mapping_of(data, "retry"):
        settings["retry"] = retry
    if is_ralph:
        settings |= {"dynamic-steps": [], "hook-tasks": [], "ralph-exit": dict(NOT_LEFT)}
    most = _max_iterations(data)
    # Where nothing is said a goal has a limit of its own.
    if most or (is_ralph and most is not None):
        settings["stats"] = {"max-iterations": most}
    return settings


def _kept(sprint: Data, workflow: Data) -> Data:
    """Return what is for the tools around: the sprint's, over the workflow's."""
    found: Data = {}
    for key in KEPT:
        said = [data[key] for data in (workflow, sprint) if is_given(data, key)]
        if said and all(isinstance(one, dict) for one in said):
            found[key] = {name: value for one in said for name, value in one.items()}
        elif said:
            found[key] = said[-1]
    if isinstance(config := found.get("config"), dict):
        # This one is among the figures.
        config.pop("max-iterations", None)
        found = {key: value for key, value in found.items() if value != {}}
    return found


def _max_iterations(data: Data) -> int | None:
    """Return the most iterations allowed: 0 for no limit, None where nothing is said."""
    most = data.get("max-iterations")
    if most is None:
        most = mapping_of(data, "config").get("max-iterations")
    if most == "unlimited":
        return 0
    return most if type(most) is int and most >= 0 else None


def _hooks(sprint: Definition, main: Definition | None, problems: Problems) -> list[Data]:
    """Return the workflow's hooks, switched as the sprint says."""
    hooks: dict[str, Data] = {}
    given: list[Any] = list_of(main.data, "per-iteration-hooks") if main else []
    for index, hook in enumerate(given):
        identity = text_of(hook, "id")
        if main is None or identity is None:
            continue
        path = ("per-iteration-hooks", index)
        actions = [key for key in ("workflow", "prompt") if is_given(hook, key)]
        if len(actions) != 1 and (actions or not is_given(hook, "command")):
            problems.add(
                "two-actions" if actions else "no-action",
                main,
                path,
                f"hook {identity!r} needs either a `workflow` or a `prompt`",
            )
        if identity in hooks:
            message = f"{identity!r} is the id of another hook"
            problems.add("duplicate-id", main, (*path, "id"), message)
        hooks[identity] = {**hook, "parallel": False, "enabled": True} | {
            key: hook[key] for key in ("parallel", "enabled") if is_given(hook, key)
        }
    for name, said in mapping_of(sprint.data, "per-iteration-hooks").items():
        if name in hooks:
            enabled = mapping_of({"": said}, "").get("enabled")
            hooks[name]["enabled"] = hooks[name]["enabled"] if enabled is None else enabled
        elif main is not None:
            problems.add(
                "unknown-hook",
                sprint,
                ("per-iteration-hooks", name),
                f"the workflow has no hook {name!r}",
                hint=nearest(name, list(hooks)),
            )
    return list(hooks.values())


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
