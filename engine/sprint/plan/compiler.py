"""The compilation of a SPRINT.yaml and its workflows into the plan for `CreateSprint`.

A plan consists of simple phases, and of for-each phases with a step for each item.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from ...errors import RefusedError
from ...log.envelope import DOCUMENT_BYTES_MAX
from ..phases.gate import GATE_RETRIES, GATE_TIMEOUT_SECONDS, said_of_gate
from ..state.document_fields import (
    IDLE_THRESHOLD,
    NOT_LEFT,
    RALPH,
    list_of,
    mapping_of,
    text_of,
)
from ..state.tree import Data
from . import create, shape, templates
from . import workflows as layout
from .definitions import Definition, Path, Problem, Problems, is_given, nearest

EXECUTE = "execute"
"""The only sub-phase of an item without a workflow."""
_PROMPTS = ("goal-prompt", "reflection-prompt")


class Compiled(NamedTuple):
    """The result of a compilation, without a plan if there are errors."""

    plan: Data | None
    problems: list[Problem]
    """Errors and warnings, in order of detection."""


def compile_sprint(
    sprint: Definition,
    workflows: layout.Workflows,
    *,
    sprint_id: str,
    available: Sequence[str] = (),
    searched: str = ".claude/workflows",
) -> Compiled:
    """Return the plan compiled from a SPRINT.yaml, and all problems found.

    `workflows` contains the workflows that the sprint names, directly or indirectly.
    `available` lists other existing workflows and `searched` is their folder, for hints.
    The caller checks the shape of the files: a field of the wrong type counts as absent.
    """
    problems = Problems()
    _check_id(sprint, sprint_id, problems)
    layout.check_references(
        sprint, workflows, problems, available=available, searched=searched
    )
    name = layout.workflow_of(sprint.data)
    main = workflows.get(name) if name else None
    settings = settings_of(sprint, main, problems)
    collections = templates.collections_of(sprint, problems)
    if main is None and not is_given(sprint.data, "goal"):
        templates.missing_items(sprint, problems)
    hierarchy = Hierarchy(sprint, workflows, collections, problems, sprint_id=sprint_id)
    plan: Data = {"sprint-id": sprint_id, **settings}
    try:
        if name and main and (settings.get("mode") != "ralph" or "phases" in main.data):
            plan["phases"] = hierarchy.phases(name)
        # Statuses, pointer and figures are added later; the log checks the final size.
        if len(msgspec.json.encode(plan)) > DOCUMENT_BYTES_MAX:
            raise layout.TooLargeError
        if main is not None:
            hierarchy.check_unused()
    except layout.TooLargeError:
        message = f"the plan would be larger than {DOCUMENT_BYTES_MAX // 2**20} MiB"
        hint = "split the sprint, or move long texts into files that the prompts refer to"
        problems.add("plan-too-large", sprint, (), message, hint=hint)
    found = problems.found
    failed = any(not problem.is_warning for problem in found)
    return Compiled(None if failed else plan, found)


def settings_of(sprint: Definition, main: Definition | None, problems: Problems) -> Data:
    """Return the plan's top-level fields except phases, in document order."""
    data = sprint.data
    workflow: Data = main.data if main is not None else {}
    is_ralph = (text_of(data, "mode") or text_of(workflow, "mode")) == RALPH
    settings: Data = {}
    if is_ralph:
        settings["mode"] = RALPH
        if not is_given(data, "goal"):
            message = "a Ralph sprint needs a `goal`"
            hint = "state the goal, and how to recognise that it has been reached"
            problems.add("missing-goal", sprint, (), message, hint=hint)
    elif is_given(data, "until"):
        message = "`until` requires `mode: ralph` and a `goal`"
        problems.add("bad-condition", sprint, ("until",), message)
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
    # A goal without an explicit limit has the default limit.
    if most or (is_ralph and most is not None):
        settings["stats"] = {"max-iterations": most}
    return settings


class Hierarchy:
    """Builds the phases of a plan."""

    def __init__(
        self,
        sprint: Definition,
        workflows: layout.Workflows,
        collections: dict[str, templates.Collection],
        problems: Problems,
        *,
        sprint_id: str,
    ) -> None:
        self._sprint = sprint
        self._collections = collections
        self._problems = problems
        self._budget = layout.Budget()
        self._outline = layout.Outline(workflows, problems, self._budget)
        self._identity = {"id": sprint_id, "name": text_of(sprint.data, "name")}
        self._used: set[str] = set()
        self._laid_out: dict[tuple[str, layout.InWorkflow], list[layout.Flat]] = {}

    def phases(self, workflow: str) -> list[Data]:
        """Return the top-level phases; raise `TooLargeError` if they cannot be recorded."""
        kinds = tuple(self._collections)
        around = layout.InWorkflow()
        flats = self._outline.flat(workflow, named_by=self._sprint, around=around)
        found = []
        for index, flat in enumerate(self._unique(flats)):
            place = {"id": flat.id, "index": index}
            scope = templates.Scope(self._identity, place, None, kinds)
            of = self._for_each if flat.part.is_for_each else self._leaf
            found.append(of(flat, scope))
        return found

    def check_unused(self) -> None:
        """Report the collections that no phase iterates over."""
        for name, collection in self._collections.items():
            if name not in self._used and collection.items:
                message = f"no phase of the workflow has `for-each: {name}`"
                path = collection.path
                self._problems.add("unused-collection", self._sprint, path, message)

    def _for_each(self, flat: layout.Flat, scope: templates.Scope) -> Data:
        data = flat.part.phase.data
        kind = text_of(data, "for-each") or ""
        # The name of an item in templates may differ from the name of its collection.
        named = "collection" if text_of(data, "collection") else "for-each"
        name = text_of(data, named) or ""
        collection = self._collection(flat.part.phase, name, named)
        node: Data = {"id": flat.id, **flat.flags}
        if flat.gate is not None:
            node["gate"] = self._gate(flat.gate, scope)
        if workflow := layout.workflow_of(data):
            # Checked even if every item names another workflow.
            self._phases_of_step(workflow, flat.part.phase, flat)
        items = collection.items if collection else ()
        return {**node, "steps": [self._step(item, (kind, name), flat) for item in items]}

    def _collection(
        self, phase: Definition, name: str, field: str
    ) -> templates.Collection | None:
        self._used.add(name)
        if name in self._collections or not name:
            return self._collections.get(name)
        if self._collections:
            message = f"{self._sprint.file} has no collection {name!r}"
            hint = nearest(name, list(self._collections))
            self._problems.add("unknown-collection", phase, (field,), message, hint=hint)
        else:
            templates.missing_items(self._sprint, self._problems)
        return None

    def _step(self, item: Definition, kinds: tuple[str, ...], outer: layout.Flat) -> Data:
        data = item.data
        model = text_of(data, "model")
        step: Data = {"id": data["id"], "prompt": data["prompt"]}
        step |= {key: data[key] for key in ("model", "depends-on") if is_given(data, key)}
        self._budget.spend(data["prompt"], layout.PHASE_BYTES)
        if (name := layout.workflow_of(data)) is not None:
            named_by = item
        elif (name := layout.workflow_of(outer.part.phase.data)) is not None:
            named_by = outer.part.phase
        else:
            self._budget.spend(data["prompt"], layout.PHASE_BYTES)
            leaf: Data = {"id": EXECUTE, "prompt": data["prompt"]}
            return {**step, "phases": [self._with_model(leaf, outer, model)]}
        phases = []
        for index, flat in enumerate(self._phases_of_step(name, named_by, outer)):
            place = {"id": flat.id, "index": index}
            scope = templates.Scope(self._identity, place, data, kinds)
            phases.append(self._leaf(flat, scope, model))
        return {**step, "phases": phases}

    def _phases_of_step(
        self, name: str, named_by: Definition, outer: layout.Flat
    ) -> list[layout.Flat]:
        """Return the phases of an item's workflow; report phases not allowed there."""
        around = outer.around._replace(prefix="")
        key = (name, around)
        if key in self._laid_out:
            return self._laid_out[key]
        flats = []
        laid_out = self._outline.flat(name, named_by=named_by, around=around)
        for flat in self._unique(laid_out):
            phase = flat.part.phase
            if flat.part.is_for_each:
                message = f"{name!r} is run for each item, so its phases cannot iterate"
                self._problems.add("nested-for-each", phase, ("for-each",), message)
                continue
            if "break" in flat.flags:
                path = ("break",) if "break" in phase.data else ()
                message = "the sprint pauses after top phases only"
                hint = "put `break: true` on the phase that has the `for-each`"
                self._problems.add("ignored-field", phase, path, message, hint=hint)
            flats.append(flat)
        self._laid_out[key] = flats
        return flats

    def _unique(self, flats: Iterable[layout.Flat]) -> list[layout.Flat]:
        """Return sibling phases; report invalid and duplicate ids."""
        seen: set[str] = set()
        found = []
        for flat in flats:
            phase, path = flat.part.phase, ("id",)
            if (
                templates.check_text_id(flat.id, phase, path, self._problems)
                and flat.id in seen
            ):
                message = f"inlining changes it to {flat.id!r}, the id of a sibling"
                self._problems.add("duplicate-id", phase, path, message)
            seen.add(flat.id)
            found.append(flat)
        return found

    def _leaf(
        self, flat: layout.Flat, scope: templates.Scope, model: str | None = None
    ) -> Data:
        self._budget.spend(flat.id, layout.PHASE_BYTES)
        prompt = self._filled(flat.part.template, scope, flat.part.phase, ("prompt",))
        leaf = self._with_model({"id": flat.id, "prompt": prompt}, flat, model)
        leaf |= flat.flags
        if flat.gate is not None:
            leaf["gate"] = self._gate(flat.gate, scope)
        return leaf

    def _with_model(self, leaf: Data, flat: layout.Flat, model: str | None) -> Data:
        """Return a leaf with its model, taken from the step, phase, sprint or workflow."""
        of_sprint = text_of(self._sprint.data, "model")
        around = flat.around
        named = model or around.phase_model or of_sprint or around.workflow_model
        return {**leaf, "model": named} if named else leaf

    def _gate(self, gate: Definition, scope: templates.Scope) -> Data:
        """Return the compiled gate in flat form, with defaults filled in."""
        compiled: Data = {"script": text_of(gate.data, "script") or ""}
        path, prompt = said_of_gate(gate.data, "on-fail-prompt")
        if isinstance(prompt, str) and prompt:
            compiled["on-fail-prompt"] = self._filled(
                templates.cut(prompt), scope, gate, path
            )
        _, retries = said_of_gate(gate.data, "max-retries")
        _, timeout = said_of_gate(gate.data, "timeout")
        compiled["max-retries"] = GATE_RETRIES if retries is None else retries
        compiled["timeout"] = GATE_TIMEOUT_SECONDS if timeout is None else timeout
        return compiled

    def _filled(
        self,
        template: templates.Template,
        scope: templates.Scope,
        where: Definition,
        path: Path,
    ) -> str:
        def report(code: str, near: str, message: str, hint: str | None) -> None:
            self._problems.add(code, where, path, message, hint=hint, near=near)

        pieces = []
        for piece in templates.filled(template, scope, report):
            # Piece by piece: a small file can expand beyond the available memory.
            self._budget.spend(piece)
            pieces.append(piece)
        return "".join(pieces)


def _kept(sprint: Data, workflow: Data) -> Data:
    """Return the fields kept for other tools; the sprint's fields take precedence."""
    found: Data = {}
    for key in shape.KEPT:
        said = [data[key] for data in (workflow, sprint) if is_given(data, key)]
        if said and all(isinstance(one, dict) for one in said):
            found[key] = {name: value for one in said for name, value in one.items()}
        elif said:
            found[key] = said[-1]
    if isinstance(config := found.get("config"), dict):
        # This field is in `stats`.
        config.pop("max-iterations", None)
        found = {key: value for key, value in found.items() if value != {}}
    return found


def _max_iterations(data: Data) -> int | None:
    """Return the maximum number of iterations: 0 for no limit, None if not specified."""
    if (most := data.get("max-iterations")) is None:
        most = mapping_of(data, "config").get("max-iterations")
    if most == "unlimited":
        return 0
    return most if type(most) is int and most >= 0 else None


def _hooks(sprint: Definition, main: Definition | None, problems: Problems) -> list[Data]:
    """Return the workflow's hooks, enabled or disabled as the sprint specifies."""
    hooks: dict[str, Data] = {}
    given: list[Any] = list_of(main.data, "per-iteration-hooks") if main else []
    for index, hook in enumerate(given):
        identity = text_of(hook, "id")
        if main is None or identity is None:
            continue
        path: Path = ("per-iteration-hooks", index)
        actions = [key for key in ("workflow", "prompt") if is_given(hook, key)]
        if len(actions) != 1 and (actions or not is_given(hook, "command")):
            message = f"hook {identity!r} needs either a `workflow` or a `prompt`"
            problems.add("two-actions" if actions else "no-action", main, path, message)
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
            path = ("per-iteration-hooks", name)
            message = f"the workflow has no hook {name!r}"
            hint = nearest(name, list(hooks))
            problems.add("unknown-hook", sprint, path, message, hint=hint)
    return list(hooks.values())


def _check_id(sprint: Definition, sprint_id: str, problems: Problems) -> None:
    try:
        create.check_sprint_id(sprint_id)
    except RefusedError as error:
        path = ("sprint-id",) if text_of(sprint.data, "sprint-id") else ()
        hint = "set `sprint-id` in SPRINT.yaml, use `--id` or rename the folder"
        problems.add("bad-id", sprint, path, error.message, hint=hint)
