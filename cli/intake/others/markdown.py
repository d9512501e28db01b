"""Read what other tools keep as Markdown: check lists, GSD's STATE.md, aider's chats."""

import re
from datetime import datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.iterations.events import Usage
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS, PENDING
from sprintlog.projections.state_files.yaml.reader import load

from ..files import decoded
from .found import bytes_of, folder_of, name_from
from .imported import Imported, ImportedSprint, Iteration
from .lines import checkboxes, unmarked

Data = dict[str, Any]
PHASES_MAX = 1_000
_ID = re.compile(r"\W*([A-Z]{1,6}-?[0-9]+(?:[.-][0-9]+)*)\b.*")
_FRONT = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)
_POSITION = re.compile(
    r"^\W*(?:current )?phase\W*0*([0-9]{1,4})\b(?: of ([0-9]{1,4}))?"
    r"(?:\W+([^\n]*?)\W*)?$",
    re.IGNORECASE | re.MULTILINE,
)
_STATED = re.compile(r"^\W*status\W+(.*)$", re.IGNORECASE | re.MULTILINE)
_CHAT = re.compile(r"^# aider chat started at (\S+ \S+)\s*$", re.MULTILINE)
_AMOUNT = r"([0-9][0-9.,]*[kM]?)"
_TOKENS = re.compile(
    rf"^> Tokens: {_AMOUNT} sent(?:, {_AMOUNT} cache write)?(?:, {_AMOUNT} cache hit)?"
    rf", {_AMOUNT} received\.(?: Cost: \$\S+ message, \$([0-9.]*[0-9]) session\.)?",
    re.MULTILINE,
)
_PROGRAM = re.compile(r"^> Aider v(\S+)", re.MULTILINE)
_MODEL = re.compile(r"^> (?:Main m|M)odel: (\S+)", re.MULTILINE)
_PROMPT = re.compile(r"^#### (?![/!])", re.MULTILINE)


def _text_of(path: Path) -> str:
    return decoded(bytes_of(path), file=str(path)).replace("\r\n", "\n")


def read_checklist(path: Path) -> Imported:
    """Return a list of check boxes: a heading is a phase, an item a step."""
    phases: dict[tuple[str, ...], Data] = {}
    above: Data = {}
    text = _text_of(path)
    boxes = [*checkboxes(text)]
    for box in boxes:
        if (phase := phases.get(box.headings)) is None:
            title = box.headings[-1] if box.headings else "Plan"
            phase = {"id": _free(title, phases.values()), "title": title, "steps": []}
            phases[box.headings], above = phase, {}
        status = COMPLETED if box.done else PENDING
        # Items have no ids: their words name them, whatever line they are in.
        named = _ID.match(box.text)
        siblings = above.setdefault("phases", []) if box.depth and above else phase["steps"]
        item = {"id": _free(named[1] if named else box.text, siblings, slug=not named)}
        siblings.append(item | {"prompt": box.text, "status": status})
        above = above if siblings is not phase["steps"] else siblings[-1]
    if not boxes:
        raise InvalidInputError(
            "has no check boxes, so nothing states which items are done",
            file=str(path),
            hint="mark each item with `- [ ]`, or with `- [x]` if it is done",
        )
    for step in (step for phase in phases.values() for step in phase["steps"]):
        if "phases" in step:
            step["title"] = step.pop("prompt")
    name = name_from(f"{folder_of(path)}-{path.stem}".replace("_", "-"))
    found = {"item": len(boxes), "passed": sum(box.done for box in boxes)}
    if number := unmarked(text):
        found["unmarked item"] = number
    return Imported([ImportedSprint(name, [*phases.values()])], found)


def _free(text: str, siblings: Any, *, slug: bool = True) -> str:
    """Return an id made of a text that no sibling has."""
    digest = sha256(text.encode()).hexdigest()[:8]
    name = name_from(text.encode("ascii", "ignore").decode(), digest) if slug else text
    taken = {one["id"] for one in siblings}
    return next(x for n in count(1) if (x := f"{name}-{n}" if n > 1 else name) not in taken)


def read_state(path: Path) -> Imported:
    """Return GSD's STATE.md: its phases, by their number completed and the current one."""
    text = _text_of(path)
    front = _FRONT.match(text)
    stated: Any = load(front[1].encode(), file=str(path)) if front else {}
    stated = stated if isinstance(stated, dict) else {}
    progress = stated.get("progress") if isinstance(stated.get("progress"), dict) else {}
    position = _POSITION.search(text[front.end() :] if front else text)
    current = _number(position[1] if position else stated.get("current_phase"))
    total = _number(progress.get("total_phases")) or _number(position and position[2])
    done = _number(progress.get("completed_phases"))
    if not total or total > PHASES_MAX:
        problem = f"states no number of phases from 1 to {PHASES_MAX}"
        raise InvalidInputError(problem, file=str(path), field="progress.total_phases")
    if done is None:
        said = _STATED.search(text)
        is_over = said is not None and "complete" in said[1].lower()
        done = max(0, (current or 1) - (not is_over))
    phases = []
    for number in range(1, total + 1):
        is_current = number == current and position is not None
        title = (position[3] if is_current and position else "") or f"Phase {number}"
        status = COMPLETED if number <= done else IN_PROGRESS if is_current else PENDING
        phases.append({"id": f"phase-{number}", "prompt": title, "status": status})
    milestone = stated.get("milestone") or ""
    sprint = ImportedSprint(name_from(f"{folder_of(path)}-{milestone}"), phases)
    return Imported([sprint], {"phase": total, "passed": min(done, total)})


def _number(given: object) -> int | None:
    """Return a number from 0 that is stated as such, or as digits."""
    digits = str(given) if isinstance(given, int | str) else ""
    return int(digits) if re.fullmatch(r"[0-9]{1,6}", digits) else None


def read_chats(path: Path) -> Imported:
    """Return the sessions in aider's .aider.chat.history.md; it rounds tokens from 1,000.

    Each message reports its tokens, and the cost of its session so far. Times are local.
    """
    _, *parts = _CHAT.split(_text_of(path))
    iterations = []
    for began, chat in zip(parts[::2], parts[1::2], strict=True):
        asked = [found.start() for found in _PROMPT.finditer(chat)]
        messages = [*_TOKENS.finditer(chat)]
        try:
            at = datetime.fromisoformat(began).astimezone().isoformat()
        except (ValueError, OverflowError):
            continue
        if asked or messages:
            iterations.append(_chat(began, at, chat, messages, asked))
    if not iterations:
        raise InvalidInputError("has no session with a message", file=str(path))
    folder = folder_of(path)
    goal = f"Chats with aider in {folder}"
    sprint = ImportedSprint(name_from(f"{folder}-aider"), goal=goal, iterations=iterations)
    return Imported([sprint], {"session": len(iterations)})


def _chat(
    began: str, at: str, chat: str, messages: list[re.Match[str]], asked: list[int]
) -> Iteration:
    sums = [sum(_tokens(found[n]) for found in messages) for n in range(1, 5)]
    sent, written, read, received = (x if messages else None for x in sums)
    version, model = _PROGRAM.search(chat), _MODEL.search(chat)
    # Tokens that are written to a cache are part of those sent.
    fresh = None if sent is None or written is None else max(0, sent - written)
    cost = messages[-1][5] if messages else None
    usage = Usage(
        input_tokens=fresh,
        output_tokens=received,
        cache_read_tokens=read or None,
        cache_creation_tokens=written or None,
        cost_usd=float(cost) if cost else None,
        turns=len(messages) or None,
    )
    return Iteration(
        began,
        at,
        at,
        # What was asked last was answered: an answer ends with its tokens.
        not asked or bool(messages and messages[-1].start() > asked[-1]),
        summary=f"{len(messages)} messages, about {sent or 0:,} tokens sent",
        usage=usage,
        agent="aider",
        agent_version=version[1] if version else None,
        models=(model[1],) if model else (),
    )


def _tokens(stated: str | None) -> int:
    """Return a number of tokens as aider rounds it, such as 310, 2.4k or 12k."""
    if not stated:
        return 0
    factor = {"k": 1_000, "M": 1_000_000}.get(stated[-1], 1)
    try:
        return round(float(stated.rstrip("kM").replace(",", "")) * factor)
    except ValueError:
        return 0


READERS = {"aider": read_chats, "checklist": read_checklist, "gsd": read_state}
"""The reader of each kind, as the reader of an extension."""
