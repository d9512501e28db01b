"""The plan as a tree with the pointer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sprintlog.facts import Node, SprintFacts
from sprintlog.formatting import counted

from . import limits
from .markup import NOTHING, Markup, cut, joined, scrolling, section, tag, text

MARKS = {
    "completed": ("\N{CHECK MARK}", "good"),
    "in-progress": ("\N{BLACK RIGHT-POINTING SMALL TRIANGLE}", "open"),
    "failed": ("\N{BALLOT X}", "bad"),
    "blocked": ("\N{BLACK SMALL SQUARE}", "bad"),
    "skipped": ("\N{RIGHTWARDS ARROW}", "steady"),
    "pending": ("\N{MIDDLE DOT}", "quiet"),
}


def plan(facts: SprintFacts) -> Markup:
    """Return the plan with its progress."""
    sprint = facts.sprint
    tree = _Drawn(facts)
    parts = []
    goal = facts.goal or sprint.plan.document.get("goal")
    if goal:
        parts.append(tag("p", tag("b", "goal "), text(_first_line(goal)), class_="goal"))
    steps = list(facts.goal_steps.items())
    if steps:
        items = [
            _item(name, str(step.get("status")), tree.says(step), [])
            for name, step in steps[: limits.NODES]
        ]
        parts.append(tag("ul", *items, class_="tree"))
    if children := sprint.plan.tree.root.children:
        parts.append(tag("ul", *tree.items(children), class_="tree"))
    if not parts:
        parts.append(tag("p", "There is no plan, and no goal.", class_="empty"))
    note = []
    if (more := max(tree.met, len(steps)) - limits.NODES) > 0:
        note.append(f"{more:,} more: `sprintlog show progress` has all")
    whole = scrolling(joined(*parts), label="the plan, scrolls", class_="box")
    return section("plan", "Plan", whole, note=note)


_DONE = ("completed", "skipped")
FOLDED_MIN = 2
"""The least number of completed nodes before the current one that are folded."""


class _Drawn:
    """The tree being drawn, limited to a maximum number of nodes."""

    def __init__(self, facts: SprintFacts) -> None:
        self._facts = facts
        is_open = facts.sprint.plan.tree.open_leaf()
        self._pointed = facts.sprint.plan.pointed() if is_open else None
        self.met = 0

    def items(self, nodes: list[Node]) -> Iterator[Markup]:
        """Yield a list item for each node; completed ones before the current are folded."""
        is_done = [node.status in _DONE for node in nodes]
        first = is_done.index(False) - 1 if False in is_done else 0
        first = first if first >= FOLDED_MIN else 0
        shown = [*self._each(nodes[first:])]
        if first:
            names = ", ".join(map(_name, nodes[:first]))
            told = f"{first:,} completed: {cut(names, 60)}"
            yield tag("li", _folded(told, self._each(nodes[:first])))
        yield from shown

    def _each(self, nodes: list[Node]) -> Iterator[Markup]:
        for node in nodes:
            self.met += 1
            if self.met > limits.NODES:
                continue
            notes = list(_notes(self._facts, node))
            if node is self._pointed:
                notes.insert(0, tag("span", "\N{BLACK LEFT-POINTING SMALL TRIANGLE} here",
                                    class_="here"))  # fmt: skip
            below = list(self.items(node.children))
            inside = [tag("ul", *below)] if below else []
            if below and node.status in _DONE:
                inside = [_folded(counted(len(node.children), "part"), below)]
            yield _item(_name(node), node.status, self.says(node.data), [*notes, *inside])

    def says(self, data: Mapping[str, Any]) -> Markup:
        """Return the first line of a prompt."""
        said = _first_line(data.get("prompt"))
        return text(said, limits.PROMPT_CHARS) if said else NOTHING


def _name(node: Node) -> str:
    return node.address.rpartition("/")[2]


def _folded(told: str, items: Iterable[Markup]) -> Markup:
    return tag("details", tag("summary", told), tag("ul", *items))


def _item(name: str, status: str, prompt: Markup, more: list[Markup]) -> Markup:
    mark, tone = MARKS.get(status, MARKS["pending"])
    sign = tag("span", mark, class_=f"sign {tone}", aria_hidden="true")
    word = tag("span", status, class_=f"word {tone}")
    says = tag("span", prompt, class_="prompt") if prompt else None
    return tag("li", sign, tag("b", name), " ", word, " ", says, *more)


def _notes(facts: SprintFacts, node: Node) -> Iterator[Markup]:
    status, tried = facts.gate(node)
    if status:
        attempts = f" after {tried} attempts" if tried > 1 else ""
        yield tag("span", f"gate {status}{attempts}", class_="gate")
    # A child's errors are shown at the child.
    stuck = ("failed", "blocked")
    is_own = not any(child.status in stuck for child in node.children)
    if node.status in stuck and is_own and node.data.get("error"):
        yield tag("span", str(node.data["error"]), class_="error")


def _first_line(value: object) -> str:
    return str(value or "").strip().partition("\n")[0]
