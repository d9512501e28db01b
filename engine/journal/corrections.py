"""Adoption of manual edits of progress.json as events, part by part.

Only the changes since the edited version are adopted, so later events are kept.
"""

from typing import Any, ClassVar

from msgspec.structs import replace

from ..command import JournalCommand
from ..log.event import Event
from ..sprint.events import EditAdopted, EditObserved
from . import events as f
from .document import LISTS, JournalDocument, Part
from .foreign import shape_of, take_document
from .parts import Entry, Learning, Pattern
from .state import Journal


class AdoptJournalEdit(JournalCommand, frozen=True):
    """Make true what somebody changed in the file of a journal."""

    needs_context: ClassVar[bool] = True

    edit: int
    """The version at which that was observed."""
    observed: EditObserved
    base: JournalDocument
    """The document before the edit."""
    theirs: dict[str, Any]
    ours: JournalDocument | None = None

    def decide(self, journal: Journal, at: str) -> list[Event]:
        """Decide on `AdoptJournalEdit`."""
        ours, base, theirs = self.ours or JournalDocument(), self.base, self.theirs
        left: list[str] = []
        # Its words on parts that differ are of an import, which changes none.
        new = take_document(ours, theirs).events
        entries = _changed(Entry, ours, base, theirs, left)
        learnings = _changed(Learning, ours, base, theirs, left)
        patterns = _changed(Pattern, ours, base, theirs, left)
        for field in ("created_at", "project_name"):
            if theirs.get(field, "") != getattr(base, field):
                left.append(f"{field}: it was said when the journal began")
        moved = [x for x in entries if _is_another(x, ours)]
        left += [f"{x.id}: its PRD and its iteration are what its id says" for x in moved]
        event = f.JournalCorrected(
            tuple(x for x in entries if x not in moved), tuple(learnings), tuple(patterns)
        )
        corrected: list[Any] = [*event.entries, *event.learnings, *event.patterns]
        # A corrected learning already includes its uses and its validity.
        counted = {x.id for x in event.learnings}
        about = [getattr(x, "learning_id", None) for x in new]
        new = [x for x, id_ in zip(new, about, strict=True) if id_ not in counted]
        adopted = (*(x.id for x in corrected), *(x.type for x in new))
        path, digest = self.observed.path, self.observed.digest
        told = EditAdopted(path, self.edit, digest, adopted, tuple(left))
        return [*new, *([event] if corrected else []), told]


def _changed(
    kind: type[Part],
    ours: JournalDocument,
    base: JournalDocument,
    theirs: dict[str, Any],
    left: list[str],
) -> list[Part]:
    """Return the edited parts that can be corrected; add the others to `left`."""
    name = LISTS[kind]
    now: dict[str, Part] = {part.id: part for part in reversed(getattr(ours, name))}
    then: dict[str, Part] = {part.id: part for part in reversed(getattr(base, name))}
    changed: list[Part] = []
    seen: set[str] = set()
    for index, data in enumerate(theirs.get(name, ())):
        part = shape_of(kind, data, field=f"{name}[{index}]")
        before, current = then.get(part.id), now.get(part.id)
        is_again = part.id in seen
        seen.add(part.id)
        if is_again or before is None or current is None or part in (before, current):
            continue
        if _without_uses(current) != _without_uses(before):
            left.append(f"{part.id}: it was changed here since then as well")
        else:
            changed.append(_with_uses(part, before, current))
    left += [
        f"{id_}: nothing that was recorded is taken out" for id_ in then if id_ not in seen
    ]
    return changed


def _is_another(entry: Entry, ours: JournalDocument) -> bool:
    recorded = ours.entry(entry.id)
    said = (entry.prd_id, entry.iteration)
    return recorded is None or said != (recorded.prd_id, recorded.iteration)


def _without_uses(part: Part) -> Part:
    return replace(part, times_referenced=0) if isinstance(part, Learning) else part


def _with_uses(part: Part, before: Part, now: Part) -> Part:
    """Return a learning with the uses that were counted since it was edited."""
    if isinstance(part, Learning):
        assert isinstance(before, Learning)
        assert isinstance(now, Learning)
        since = now.times_referenced - before.times_referenced
        return replace(part, times_referenced=part.times_referenced + since)
    return part
