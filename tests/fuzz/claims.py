"""Importers' claims: their figures and statuses, compared with an independent count.

The count of a file uses no code of the importer: JSON objects, Markdown lines, and numbers
and times in the text.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.cli.importers import markdown
from sprintlog.cli.importers.aiwg import read_aiwg
from sprintlog.cli.importers.orchestrator import read_orchestrator
from sprintlog.cli.importers.ralph_loop import read_ralph_loop
from sprintlog.cli.importers.task_lists import FORMS, read_task_lists
from sprintlog.cli.intake import journal, progress
from sprintlog.cli.intake.imported import Imported, facts_of
from sprintlog.engine.journal.progress_text import parse_text
from sprintlog.engine.sprint.iterations import facts as f

from .figures import json_of, numbers_in

_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9a-f_]+|0o[0-7_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)", re.I
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_HEADING = re.compile(r"#{1,6}\s")


class Claim(NamedTuple):
    """A figure or a status that an importer returns, and whether the file states it."""

    name: str
    value: object
    is_stated: bool


class Given(NamedTuple):
    """A mutated file, as read by the independent count."""

    file: Path
    content: bytes

    @property
    def text(self) -> str:
        """Return the text without parts that its bytes hide from a reader."""
        return self.content.decode("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        """Return the lines, ended as Python ends them."""
        return self.text.splitlines()

    def numbers(self, only: str = "") -> set[float]:
        """Return the numbers in the text, or in the lines that contain a word."""
        text = "\n".join(x for x in self.lines if only in x.lower())
        found = {x for word in _NUMBER.findall(text) if (x := _value(word)) is not None}
        return found | {abs(x) for x in found}

    def objects(self) -> list[dict[str, Any]]:
        """Return all objects of JSON, of the whole file or of each line."""
        whole = json_of(self.content.removeprefix(b"\xef\xbb\xbf"))
        lines = self.content.split(b"\n") if whole is None else []
        found, waiting = list[dict[str, Any]](), [whole, *map(json_of, lines)]
        while waiting:
            one = waiting.pop()
            found += [one] if isinstance(one, dict) else []
            waiting += one.values() if isinstance(one, dict) else ()
            waiting += one if isinstance(one, list) else ()
        return found


def _value(word: str) -> float | None:
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return None


def _listed(text: str, value: object, given: Given) -> Iterator[Claim]:
    """Yield a claim for each number in data that must be in the file unchanged."""
    stated = given.numbers()
    for number in numbers_in(value):
        yield Claim(text, number, number in stated)


def _leaves(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        below = [x for key in ("steps", "phases") for x in node.get(key) or ()]
        yield from _leaves(below) if below else [node]


def of_lists(given: Given) -> Iterator[Claim]:
    """Yield the claims of a task list in JSON."""
    words = {word: name for name, x in FORMS["words"].items() for word in x.split()}
    objects, stated = given.objects(), Counter[str]()
    for one in objects:
        texts = [x.strip().lower() for x in one.values() if isinstance(x, str)]
        said = {words.get(re.sub(r"[\s_]+", "-", x), "") for x in texts}
        is_flagged = any(x is True for x in one.values())
        stated.update(said | {"completed"} if is_flagged else said)
    leaves, total, passed = list[dict[str, Any]](), 0, 0
    for listed in read_task_lists(given.content, file="prd.json").lists:
        leaves += _leaves(listed.document["phases"] if listed.document else [])
        total, passed = total + listed.total, passed + listed.passed
    statuses = Counter(x["status"] for x in leaves)
    yield Claim("total", total, total == len(leaves) <= len(objects))
    yield Claim("passed", passed, passed == statuses["completed"])
    for status, number in statuses.items():
        # An item without a known status is pending.
        yield Claim(status, number, status == "pending" or number <= stated[status])
    for leaf in leaves:
        yield Claim("leaf", leaf["prompt"], any(_names(one, leaf) for one in objects))


def _names(one: dict[str, Any], leaf: dict[str, Any]) -> bool:
    """Return whether an object has the keys of a leaf, or is a mapping with its id."""
    said = [str(x).strip() for x in one.values() if isinstance(x, str | int | float)]
    return leaf["id"] in (*said, *one) or any(x and x in leaf["prompt"] for x in said)


def of_checklist(given: Given) -> Iterator[Claim]:
    """Yield the claims of a list with check boxes."""
    read = markdown.read_checklist(given.file)
    lines = [_plain(x) for x in given.lines]
    boxes = Counter(
        (x.partition("] ")[2], mark != "[ ]")
        for x in lines
        for mark in ("[ ]", "[x]", "[X]")
        if x.partition(" ")[2].startswith(f"{mark} ")
    )
    items = [x for phase in read.sprints[0].phases for x in _items(phase)]
    found = Counter((_plain(text), status == "completed") for text, status in items)
    for item, number in found.items():
        yield Claim("item", item, number <= boxes[item])
    yield Claim("items", read.found["item"], read.found["item"] == len(items))
    passed = sum(number for (_, done), number in found.items() if done)
    yield Claim("passed", read.found["passed"], read.found["passed"] == passed)
    others = sum(_BULLET.match(x) is not None for x in given.lines) - len(items)
    number = read.found.get("unmarked item", 0)
    yield Claim("unmarked", number, number <= max(0, others))


def _plain(text: str) -> str:
    """Return a text with one space for any whitespace, as Markdown and YAML fold it."""
    return " ".join(text.split())


def _items(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the text and the status of each item, those with items below included."""
    if "status" in node:
        yield node.get("prompt") or node["title"], node["status"]
    for below in (*node.get("steps", ()), *node.get("phases", ())):
        yield from _items(below)


def of_state(given: Given) -> Iterator[Claim]:
    """Yield the claims of GSD's state."""
    read = markdown.read_state(given.file)
    stated = given.numbers(only="phase")
    statuses = Counter(x["status"] for x in read.sprints[0].phases)
    yield Claim("phases", read.found["phase"], read.found["phase"] in stated)
    yield Claim("phases", statuses.total(), statuses.total() == read.found["phase"])
    done = statuses["completed"]
    # All items before the current phase are done; in a complete state, so is the current
    # one.
    before = {0, *(x - 1 for x in stated), *(int(x) for x in stated if x < 2**62)}
    yield Claim("done", done, done in stated | before)
    yield Claim("passed", read.found["passed"], read.found["passed"] == done)
    yield Claim("in progress", statuses["in-progress"], statuses["in-progress"] <= 1)


def of_chats(given: Given) -> Iterator[Claim]:
    """Yield the claims of aider's chats."""
    read = markdown.read_chats(given.file)
    reports = [x for x in given.lines if x.startswith("> Tokens:")]
    amounts = [[_rounded(x) for x in re.findall(r"[\d.,]+[kM]?", one)] for one in reports]
    pairs = {(a - b, c) for one in amounts for a in one for b in (0, *one) for c in one}
    costs = [0.0, *(x for one in amounts for x in one)]
    spent = {round(a - b, 9) for a in costs for b in costs}
    starts = given.text.count("# aider chat started at ")
    yield Claim("sessions", read.found["session"], read.found["session"] <= starts)
    ran = [x.run for x in _facts(read) if isinstance(x, f.Ended) and x.run is not None]
    calls = [call for one in ran for call in one.calls]
    yield Claim("messages", len(calls), len({x.key for x in calls}) <= len(reports))
    for call in calls:
        tokens = (call.input_tokens, call.output_tokens)
        is_stated = tokens in pairs or None in tokens
        yield Claim("tokens", tokens, is_stated)
        cache = {call.cache_read_tokens, call.cache_creation_tokens} - {None}
        yield Claim("cache", cache, cache <= {x for one in amounts for x in one})
        cost = call.cost_usd
        yield Claim("cost", cost, cost is None or cost in spent)
    for one in ran:
        for name in ("input_tokens", "output_tokens", "cost_usd", "turns"):
            total = getattr(one.usage, name, None)
            parts = [x for call in one.calls if (x := getattr(call, name)) is not None]
            same = total is None if not parts else round(sum(parts), 9) == total
            yield Claim(name, total, same and (total or 0) < 2**63)


def _rounded(stated: str) -> float:
    factor = {"k": 1_000, "M": 1_000_000}.get(stated[-1:], 1)
    try:
        given = float(stated.rstrip("kM").replace(",", "")) * factor
        return given if factor == 1 and "." in stated else round(given)
    except (ValueError, OverflowError):
        return -1


def _facts(read: Imported) -> list[f.Fact]:
    return [x for one in read.sprints for x in facts_of(one, file=Path("given"))]


def of_history(given: Given) -> Iterator[Claim]:
    """Yield the claims of the history of ralph-orchestrator."""
    read = read_orchestrator(given.file)
    facts = _facts(read)
    objects = given.objects()
    times = [x for one in objects for x in one.values() if isinstance(x, str)]
    moments = [x for one in times if (x := _moment(one)) is not None]
    lasted = {round((b - a) * 1000) for a, b in permutations(moments, 2)} | {0}
    begun = [x for x in facts if isinstance(x, f.Began)]
    ran = [x.run for x in facts if isinstance(x, f.Ended) and x.run is not None]
    said = Counter(x for one in objects for x in one.values() if isinstance(x, str))
    yield Claim("iterations", len(begun), len(begun) <= said["iteration_started"])
    yield Claim("found", read.found, read.found["iteration"] == len(begun))
    yield from _listed("number", [x.number for x in begun], given)
    flags = Counter(x for one in objects for x in one.values() if isinstance(x, bool))
    for status, flag in (("completed", True), ("failed", False)):
        number = sum(x.status == status for x in ran)
        yield Claim(status, number, number <= flags[flag])
    for one in ran:
        yield Claim("duration", one.duration_ms, one.duration_ms in lasted)


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        return None


def of_aiwg(given: Given) -> Iterator[Claim]:
    """Yield the claims of a loop of AIWG."""
    stated = given.numbers() | {*numbers_in(given.objects())}
    finite = {x for x in stated if abs(x) < 2**62}
    known = stated | {x / 100 for x in finite} | {round(x) for x in finite}
    numbers = [x for x in given.objects() if {"number", "iteration"} & x.keys()]
    for one in read_aiwg(given.file):
        facts = _facts(one)
        begun = sum(isinstance(x, f.Began) for x in facts)
        yield Claim("iterations", begun, begun <= max(len(numbers), *stated, 0))
        ran = [x.run for x in facts if isinstance(x, f.Ended) and x.run is not None]
        worth = [x for x in facts if isinstance(x, f.Baseline | f.MeasurementSaid)]
        data = msgspec.to_builtins([ran, [x._replace(key="") for x in worth]])
        for number in numbers_in(data):
            yield Claim("figure", number, number in known or number == 0)


def of_loop(given: Given) -> Iterator[Claim]:
    """Yield the claims of a loop of the ralph-loop plugin."""
    read = read_ralph_loop(given.file)
    facts, loop = _facts(read), read.sprints[0].loop
    begun = sum(isinstance(x, f.Began) for x in facts)
    yield Claim("iterations", begun, begun in given.numbers(only="iteration"))
    yield Claim("found", read.found, read.found == {"iteration": begun})
    yield from _listed("limit", [loop and loop.max_iterations], given)
    over = sum(isinstance(x, f.LoopOver) for x in facts)
    yield Claim("over", over, over <= given.text.count("active"))


def of_text(given: Given) -> Iterator[Claim]:
    """Yield the claims of a text with dated entries."""
    read = parse_text(given.text)
    headings = [x for x in given.lines if _HEADING.match(x)]
    bullets = sum(_BULLET.match(x) is not None for x in given.lines)
    yield Claim("entries", len(read.entries), len(read.entries) <= len(headings))
    for entry in read.entries:
        day, word = entry.timestamp[:10], {"failed": "fail"}.get(entry.status, entry.status)
        of_day = [x.lower() for x in headings if day in x]
        is_said = entry.status == "completed" or word in str(of_day) or "wip" in str(of_day)
        yield Claim("entry", entry, bool(of_day) and is_said)
    said = [x for entry in read.entries for x in (*entry.noted, *entry.seen)]
    number = len(said) + len(read.patterns)
    yield Claim("lines", number, number <= bullets)


def of_journal(given: Given) -> Iterator[Claim]:
    """Yield the claims of a progress.json."""
    document = journal.read_journal(given.content, file="progress.json").document
    yield from _listed("number", document, given)
    yield from _counted(document, given)


def of_progress(given: Given) -> Iterator[Claim]:
    """Yield the claims of a PROGRESS.yaml."""
    document = progress.read_progress(given.content, file="PROGRESS.yaml").document
    yield from _listed("number", document, given)
    yield from _counted(document, given)


def _counted(document: object, given: Given) -> Iterator[Claim]:
    """Yield a claim for the number of times that each status is in a document."""
    statuses, waiting = Counter[str](), [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            statuses.update([str(x)] if (x := one.get("status")) is not None else [])
            waiting += one.values()
        waiting += one if isinstance(one, list) else ()
    text = _plain(given.text)
    for status, number in statuses.items():
        yield Claim(status, number, number <= text.count(_plain(status)))
