"""Readers for other tools' Markdown: checklists, GSD's STATE.md and aider's chats."""

import re
from datetime import datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from sprintlog import extensions
from sprintlog.errors import InvalidInputError
from sprintlog.usage import ModelCall, summed

COMPLETED, IN_PROGRESS, PENDING = "completed", "in-progress", "pending"
_OF_TOOLS = {"tasks", "scripts", "ralph", "docs"}
"""Common folder names in loops that do not name a project."""
Data = dict[str, Any]
PHASES_MAX = 1_000
_AMOUNT_MAX = 10**9
_ID = re.compile(r"\W*([A-Z]{1,6}-?[0-9]+(?:[.-][0-9]+)*)\b.*")
_FRONT = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)
_POSITION = re.compile(
    r"^[^\w\n]*(?:current )?phase[^\w\n]*0*([0-9]{1,4})(?:\.([0-9]{1,4}))?\b"
    r"(?: of ([0-9]{1,4})\b(?!\.\d))?(?:[^\w\n]+([^\n]*))?$",
    re.IGNORECASE | re.MULTILINE,
)
_STATED = re.compile(r"^[^\w\n]*status[^\w\n]+(.*)$", re.IGNORECASE | re.MULTILINE)
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
    return extensions.ForeignFile(path).text().replace("\r\n", "\n")


def read_checklist(path: Path) -> extensions.Imported:
    """Return a checklist as a sprint: headings become phases, and items become steps."""
    phases: dict[tuple[str, ...], Data] = {}
    above: Data = {}
    text = _text_of(path)
    boxes = [*extensions.checkboxes(text)]
    for box in boxes:
        if (phase := phases.get(box.headings)) is None:
            title = box.headings[-1] if box.headings else "Plan"
            phase = {"id": _free(title, phases.values()), "title": title, "steps": []}
            phases[box.headings], above = phase, {}
        status = COMPLETED if box.done else PENDING
        # Items have no ids, so their text identifies them regardless of the line.
        named = _ID.match(box.text)
        siblings = above.setdefault("phases", []) if box.depth and above else phase["steps"]
        item = {"id": _free(named[1] if named else box.text, siblings, slug=not named)}
        siblings.append(item | {"prompt": box.text, "status": status})
        above = above if siblings is not phase["steps"] else siblings[-1]
    if not boxes:
        problem = "has no check boxes (`- [x]`), so completed items are unknown"
        raise InvalidInputError(problem, file=str(path))
    for step in (step for phase in phases.values() for step in phase["steps"]):
        if "phases" in step:
            step["title"] = step.pop("prompt")
    name = extensions.name_from(f"{folder_of(path)}-{path.stem}".replace("_", "-"))
    found = {"item": len(boxes), "passed": sum(box.done for box in boxes)}
    if number := extensions.Checkbox.missing(text):
        found["unmarked item"] = number
    return extensions.Imported([extensions.ImportedSprint(name, [*phases.values()])], found)


def _free(text: str, siblings: Any, *, slug: bool = True) -> str:
    """Return an id that is derived from a string and unique among the siblings."""
    name = text
    if slug:
        digest = sha256(text.encode()).hexdigest()[:8]
        name = extensions.name_from(text.encode("ascii", "ignore").decode(), digest)
    taken = {one["id"] for one in siblings}
    return next(x for n in count(1) if (x := f"{name}-{n}" if n > 1 else name) not in taken)


def read_state(path: Path) -> extensions.Imported:
    """Return the phases in GSD's STATE.md with their statuses."""
    text = _text_of(path)
    front = _FRONT.match(text)
    stated: Any = extensions.ForeignFile(path).yaml(front[1]) if front else {}
    stated = stated if isinstance(stated, dict) else {}
    progress = stated.get("progress") if isinstance(stated.get("progress"), dict) else {}
    position = _POSITION.search(text[front.end() :] if front else text)
    current = _number(position[1] if position else stated.get("current_phase"))
    total = _number(progress.get("total_phases")) or _number(position and position[3])
    done = _number(progress.get("completed_phases"))
    if not total or total > PHASES_MAX:
        problem = f"must state a number of phases from 1 to {PHASES_MAX}"
        raise InvalidInputError(problem, file=str(path), field="progress.total_phases")
    if done is None:
        said = _STATED.search(text)
        # An inserted phase has a fractional number: the phase before it is complete.
        is_over = (said and "complete" in said[1].lower()) or (position and position[2])
        done = max(0, (current or 0) - (not is_over))
    phases = []
    for number in range(1, total + 1):
        is_current = number == current and position is not None and not position[2]
        named = position[4] if is_current and position else None
        title = (named or "").rstrip(" )]*`") or f"Phase {number}"
        status = COMPLETED if number <= done else IN_PROGRESS if is_current else PENDING
        phases.append({"id": f"phase-{number}", "prompt": title, "status": status})
    milestone = stated.get("milestone") or ""
    name = extensions.name_from(f"{folder_of(path)}-{milestone}")
    sprint = extensions.ImportedSprint(name, phases)
    return extensions.Imported([sprint], {"phase": total, "passed": min(done, total)})


def _number(given: object) -> int | None:
    """Return a non-negative integer given as a number or as digits, otherwise None."""
    digits = str(given) if isinstance(given, int | str) else ""
    return int(digits) if re.fullmatch(r"[0-9]{1,6}", digits) else None


def read_chats(path: Path) -> extensions.Imported:
    """Return the sessions in aider's .aider.chat.history.md.

    Each message reports its number of tokens, which is rounded if above 1,000, and the
    session's cost so far. Times are local.
    """
    lost, *parts = _CHAT.split(_text_of(path))
    chats: dict[str, str] = {}
    for began, chat in zip(parts[::2], parts[1::2], strict=True):
        chats[began] = chats.get(began, "") + chat
    iterations, unread = [], []
    if _PROMPT.search(lost) or _TOKENS.search(lost):
        problem = "belongs to a session whose start is missing"
        unread.append(extensions.Unread.of(str(path), problem, lost))
    for began, chat in chats.items():
        try:
            at = datetime.fromisoformat(began).astimezone().isoformat()
        except (ValueError, OverflowError):
            problem = f"{began[:40]}: is not a time"
            unread.append(extensions.Unread.of(str(path), problem, chat))
            continue
        if _PROMPT.search(chat) or _TOKENS.search(chat):
            iterations.append(_chat(began, at, chat))
    if not iterations:
        raise InvalidInputError("has no session with a message", file=str(path))
    folder = folder_of(path)
    name, goal = extensions.name_from(f"{folder}-aider"), f"Chats with aider in {folder}"
    sprint = extensions.ImportedSprint(name, goal=goal, iterations=iterations)
    return extensions.Imported([sprint], {"session": len(iterations)}, unread)


def _chat(began: str, at: str, chat: str) -> extensions.Iteration:
    messages = [*_TOKENS.finditer(chat)]
    asked = [found.start() for found in _PROMPT.finditer(chat)]
    calls, spent = [], 0.0
    for number, found in enumerate(messages):
        sent, written, read, received = (_count(found[n]) for n in range(1, 5))
        cost = _amount(found[5])
        # The stated cost is the session's total; tokens written to the cache are also sent.
        call = ModelCall(
            key=sha256(f"aider {began} {number}".encode()).hexdigest()[:16],
            input_tokens=None if sent is None else max(0, sent - (written or 0)),
            output_tokens=received,
            cache_read_tokens=read,
            cache_creation_tokens=written,
            cost_usd=cost and round(cost - spent if cost >= spent else cost, 9),
            turns=1,
        )
        calls.append(call)
        spent = spent if cost is None else cost
    usage = summed(calls)
    version, model = _PROGRAM.search(chat), _MODEL.search(chat)
    tokens = (usage.input_tokens or 0) + (usage.cache_creation_tokens or 0)
    return extensions.Iteration(
        began,
        at,
        at,
        # An answer ends with its token count; later unanswered prompts cannot be detected.
        True if messages and messages[-1].start() > max(asked, default=-1) else None,
        summary=f"{len(messages)} messages, about {tokens:,} tokens sent",
        usage=usage if calls else None,
        agent="aider",
        agent_version=version[1] if version else None,
        models=(model[1],) if model else (),
        calls=tuple(calls),
        size=len(chat),
    )


def _amount(stated: str | None) -> float | None:
    """Return an amount in aider's notation, such as 310, 2.4k or 12k, otherwise None."""
    factor = {"k": 1_000, "M": 1_000_000}.get((stated or "")[-1:], 1)
    try:
        found = float((stated or "").rstrip("kM").replace(",", "")) * factor
    except ValueError:
        return None
    return found if 0 <= found < _AMOUNT_MAX else None


def _count(stated: str | None) -> int | None:
    given = _amount(stated)
    return None if given is None else round(given)


def folder_of(file: Path) -> str:
    """Return the name of the project that a file belongs to, ignoring tools' folders."""
    names = (folder.name for folder in file.resolve().parents)
    return next((x for x in names if x not in _OF_TOOLS and not x.startswith(".")), "")


READERS = {"aider": read_chats, "checklist": read_checklist, "gsd": read_state}
"""The reader for each kind of file, in the form that extensions provide."""
