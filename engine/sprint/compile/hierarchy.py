"""The compiled hierarchy: simple phases, and for-each phases with a step for each item."""

from collections.abc import Iterable

from ..gates.policy import GATE_RETRIES, GATE_TIMEOUT_SECONDS, said_of_gate
from ..state.given import text_of
from ..state.tree import Data
from .budget import Budget
from .inline import PHASE_BYTES, Flat, InWorkflow, Outline
from .items import Collection, check_text_id, missing_items
from .problems import Definition, Path, Problems, is_given, nearest
from .templates import Scope, Template, cut, filled
from .workflows import workflow_of

EXECUTE = "execute"
"""The one sub-phase of an item that no workflow is named for."""


class Hierarchy:
    """Builds the phases of a plan."""

    def __init__(
        self,
        sprint: Definition,
        outline: Outline,
        collections: dict[str, Collection],
        problems: Problems,
        budget: Budget,
        *,
        sprint_id: str,
    ) -> None:
        self._sprint = sprint
        self._outline = outline
        self._collections = collections
        self._problems = problems
        self._budget = budget
        self._identity = {"id": sprint_id, "name": text_of(sprint.data, "name")}
        self._used: set[str] = set()
        self._laid_out: dict[tuple[str, InWorkflow], list[Flat]] = {}

    def phases(self, workflow: str) -> list[Data]:
        """Return the top phases; raise `TooLargeError` beyond what can be recorded."""
        kinds = tuple(self._collections)
        around = InWorkflow()
        flats = self._outline.flat(workflow, named_by=self._sprint, around=around)
        found = []
        for index, flat in enumerate(self._unique(flats)):
            place = {"id": flat.id, "index": index}
            scope = Scope(self._identity, place, None, kinds)
            of = self._for_each if flat.part.is_for_each else self._leaf
            found.append(of(flat, scope))
        return found

    def check_unused(self) -> None:
        """Tell which collections no phase iterates over."""
        for name, collection in self._collections.items():
            if name not in self._used and collection.items:
                self._problems.add(
                    "unused-collection",
                    self._sprint,
                    collection.path,
                    f"no phase of the workflow has `for-each: {name}`",
                )

    def _for_each(self, flat: Flat, scope: Scope) -> Data:
        data = flat.part.phase.data
        kind = text_of(data, "for-each") or ""
        # What an item is called in templates may be other than where the items are.
        named = "collection" if text_of(data, "collection") else "for-each"
        name = text_of(data, named) or ""
        collection = self._collection(flat.part.phase, name, named)
        node: Data = {"id": flat.id, **flat.flags}
        if flat.gate is not None:
            node["gate"] = self._gate(flat.gate, scope)
        if workflow := workflow_of(data):
            # Looked at even where every item names another one.
            self._phases_of_step(workflow, flat.part.phase, flat)
        items = collection.items if collection else ()
        kinds = (kind, name)
        return {**node, "steps": [self._step(item, kinds, flat) for item in items]}

    def _collection(self, phase: Definition, name: str, field: str) -> Collection | None:
        self._used.add(name)
        if name in self._collections or not name:
            return self._collections.get(name)
        if self._collections:
            self._problems.add(
                "unknown-collection",
                phase,
                (field,),
                f"{self._sprint.file} has no collection {name!r}",
                hint=nearest(name, list(self._collections)),
            )
        else:
            missing_items(self._sprint, self._problems)
        return None

    def _step(self, item: Definition, kinds: tuple[str, ...], outer: Flat) -> Data:
        data = item.data
        model = text_of(data, "model")
        step: Data = {"id": data["id"], "prompt": data["prompt"]}
        step |= {key: data[key] for key in ("model", "depends-on") if is_given(data, key)}
        self._budget.spend(data["prompt"], PHASE_BYTES)
        if (name := workflow_of(data)) is not None:
            named_by = item
        elif (name := workflow_of(outer.part.phase.data)) is not None:
            named_by = outer.part.phase
        else:
            self._budget.spend(data["prompt"], PHASE_BYTES)
            leaf: Data = {"id": EXECUTE, "prompt": data["prompt"]}
            return {**step, "phases": [self._with_model(leaf, outer, model)]}
        phases = []
        for index, flat in enumerate(self._phases_of_step(name, named_by, outer)):
            place = {"id": flat.id, "index": index}
            scope = Scope(self._identity, place, data, kinds)
            phases.append(self._leaf(flat, scope, model))
        return {**step, "phases": phases}

    def _phases_of_step(self, name: str, named_by: Definition, outer: Flat) -> list[Flat]:
        """Return a workflow laid out for items; what cannot be in one is a problem."""
        around = outer.around._replace(prefix="")
        key = (name, around)
        if key in self._laid_out:
            return self._laid_out[key]
        flats = []
        laid_out = self._outline.flat(name, named_by=named_by, around=around)
        for flat in self._unique(laid_out):
            phase = flat.part.phase
            if flat.part.is_for_each:
                self._problems.add(
                    "nested-for-each",
                    phase,
                    ("for-each",),
                    f"{name!r} is run for each item, so its phases cannot iterate",
                )
                continue
            if "break" in flat.flags:
                self._problems.add(
                    "ignored-field",
                    phase,
                    ("break",) if "break" in phase.data else (),
                    "the sprint pauses after top phases only",
                    hint="put `break: true` on the phase that has the `for-each`",
                )
            flats.append(flat)
        self._laid_out[key] = flats
        return flats

    def _unique(self, flats: Iterable[Flat]) -> list[Flat]:
        """Return phases in a row, their ids checked."""
        seen: set[str] = set()
        found = []
        for flat in flats:
            phase, path = flat.part.phase, ("id",)
            if check_text_id(flat.id, phase, path, self._problems) and flat.id in seen:
                message = (
                    f"inlined it becomes {flat.id!r}, the id of another phase beside it"
                )
                self._problems.add("duplicate-id", phase, path, message)
            seen.add(flat.id)
            found.append(flat)
        return found

    def _leaf(self, flat: Flat, scope: Scope, model: str | None = None) -> Data:
        self._budget.spend(flat.id, PHASE_BYTES)
        prompt = self._filled(flat.part.template, scope, flat.part.phase, ("prompt",))
        leaf = self._with_model({"id": flat.id, "prompt": prompt}, flat, model)
        leaf |= flat.flags
        if flat.gate is not None:
            leaf["gate"] = self._gate(flat.gate, scope)
        return leaf

    def _with_model(self, leaf: Data, flat: Flat, model: str | None) -> Data:
        """Return a leaf with its model: step over phase over sprint over workflow."""
        of_sprint = text_of(self._sprint.data, "model")
        around = flat.around
        named = model or around.phase_model or of_sprint or around.workflow_model
        return {**leaf, "model": named} if named else leaf

    def _gate(self, gate: Definition, scope: Scope) -> Data:
        """Return a compiled gate: flat, and with its defaults."""
        compiled: Data = {"script": text_of(gate.data, "script") or ""}
        path, prompt = said_of_gate(gate.data, "on-fail-prompt")
        if isinstance(prompt, str) and prompt:
            compiled["on-fail-prompt"] = self._filled(cut(prompt), scope, gate, path)
        _, retries = said_of_gate(gate.data, "max-retries")
        _, timeout = said_of_gate(gate.data, "timeout")
        compiled["max-retries"] = GATE_RETRIES if retries is None else retries
        compiled["timeout"] = GATE_TIMEOUT_SECONDS if timeout is None else timeout
        return compiled

    def _filled(
        self, template: Template, scope: Scope, where: Definition, path: Path
    ) -> str:
        def report(code: str, near: str, message: str, hint: str | None) -> None:
            self._problems.add(code, where, path, message, hint=hint, near=near)

        pieces = []
        for piece in filled(template, scope, report):
            # Piece by piece: a small file can ask for more than memory holds.
            self._budget.spend(piece)
            pieces.append(piece)
        return "".join(pieces)
