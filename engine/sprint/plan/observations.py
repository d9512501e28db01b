"""What must have happened between two versions of a document, as events; pure.

Nobody saw it happen: it is read off what is otherwise in the later version.
"""

from collections.abc import Iterator
from copy import deepcopy

from ...log.event import Event
from ...sprint import events as f
from ..state import words
from ..state.document_fields import count_of, mapping_of
from ..state.node import Node
from ..state.tree import Data, Tree

_STEP_LEVEL = 2
"""The level of steps: phases are above, sub-phases below."""
_SAID_CHARS_MAX = 2_000


def observations(before: Data, after: Data, *, source: str) -> list[Event]:
    """Return what happened from one version to the next, in a possible order."""
    older, newer = Tree(before), Tree(after)
    known = {node.address: node for node in _nodes(older.root)}
    return [
        *_of_the_sprint(before, after, source),
        *_iteration(before, after),
        *(e for node in _nodes(newer.root) for e in _injected(node, known)),
        *(
            e
            for leaf in newer.leaves
            for e in _of_leaf(leaf, known.get(leaf.address), source)
        ),
        *_end(before, after),
    ]


def losses(before: Data, after: Data) -> tuple[str, ...]:
    """Return the leaves that were done and are no more: open again, or gone."""
    there = {leaf.address: leaf.status for leaf in Tree(after).leaves}
    done = (leaf.address for leaf in Tree(before).leaves if leaf.status in words.FINISHED)
    parents = {node.address for node in _nodes(Tree(after).root)} - there.keys()
    return tuple(
        address
        for address in done
        if address not in parents and there.get(address) not in words.FINISHED
    )


def _nodes(node: Node) -> Iterator[Node]:
    """Yield all nodes below one, each before those below it."""
    for child in node.children:
        yield child
        yield from _nodes(child)


def _of_the_sprint(before: Data, after: Data, source: str) -> Iterator[Event]:
    was, is_now = before.get("status"), after.get("status")
    if was == words.NOT_STARTED and is_now not in (words.NOT_STARTED, was):
        yield f.SprintStarted()
    if was == words.COMPLETED and is_now != words.COMPLETED:
        yield f.SprintReopened(f"{is_now} in {source}")


def _end(before: Data, after: Data) -> Iterator[Event]:
    if after.get("status") == words.COMPLETED != before.get("status"):
        yield f.SprintCompleted()


def _iteration(before: Data, after: Data) -> Iterator[Event]:
    was, number = (
        count_of(mapping_of(one, "stats"), "current-iteration") for one in (before, after)
    )
    if number > was:
        yield f.IterationStarted(number)


def _injected(node: Node, known: dict[str, Node]) -> Iterator[Event]:
    """Yield that a node came in, unless it came with the one above it."""
    parent = node.parent
    if node.address in known or parent is None:
        return
    if parent.level and parent.address not in known:
        return
    siblings = parent.children
    index = siblings.index(node)
    after = siblings[index - 1].address if index else None
    behind = (one.address for one in siblings[index + 1 :] if one.address in known)
    before = next(behind, None) if after is None else None
    kind = f.StepInjected if node.level == _STEP_LEVEL else f.PhaseInjected
    position = f.InjectionPosition("after" if after else "before", after or before)
    if not (after or before):
        position = f.InjectionPosition(
            "end-of-phase" if parent.level else "end-of-workflow"
        )
    into = parent.address if parent.level else ""
    yield kind([deepcopy(node.data)], position, into=into, after=after, before=before)


def _of_leaf(leaf: Node, older: Node | None, source: str) -> Iterator[Event]:
    """Yield what happened to a leaf."""
    was, is_now = older.status if older else words.PENDING, leaf.status
    if was == is_now:
        return
    address = leaf.address
    if was in words.FINISHED and is_now not in words.FINISHED:
        yield f.PhaseReopened(address, f"{was} before, {is_now} in {source}")
    elif is_now == words.PENDING:
        yield f.PhaseRetried(address, f"{was} before, {is_now} in {source}")
    match is_now:
        case _ if is_now == words.IN_PROGRESS:
            yield f.PhaseStarted(address)
        case _ if is_now == words.COMPLETED:
            yield f.PhaseCompleted(address, _said(leaf, "summary"))
        case _ if is_now == words.FAILED:
            error = _said(leaf, "error") or f"{words.FAILED} in {source}"
            yield f.PhaseFailed(address, error)
        case _ if is_now == words.BLOCKED:
            yield f.PhaseBlocked(
                address, _said(leaf, "error") or f"{words.BLOCKED} in {source}"
            )
        case _ if is_now == words.SKIPPED:
            yield f.PhaseSkipped(address)


def _said(leaf: Node, key: str) -> str | None:
    value = leaf.data.get(key)
    return value[:_SAID_CHARS_MAX] if isinstance(value, str) and value else None
