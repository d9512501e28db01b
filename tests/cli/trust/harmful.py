"""Texts that do harm on a terminal, and the history of a sprint that is full of them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from sprintlog.engine.journal import parts
from sprintlog.engine.journal.events import JOURNAL_EVENTS, JournalOpened
from sprintlog.engine.judging import events as i
from sprintlog.engine.judging.loop_rules import LoopRules, MeasureRules
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import FileLeft, KeptCopy
from sprintlog.engine.sprint.events import queue as q
from sprintlog.engine.sprint.events.loop import Took
from sprintlog.engine.sprint.state.tree import Tree
from sprintlog.projections.state_files.yaml.reader import load

DOCUMENT = (
    Path(__file__).resolve().parents[3] / "fixtures" / "documents" / "every-field.yaml"
)
AT = "2026-03-01T10:00:00Z"
SPOOF = "error: all is well"
EVIL = (
    "x\x1b[2J\x1b]8;;http://e\x1b\\\x1b]52;c;eA==\a\b\b\r\f\v\x7f"
    f"\n{SPOOF}\n\x80\x85\x9b31m\x9d0;t\x9c\xa0\xad"
    "\u061c\u200b\u200d\u200e\u2028\u2029\u202e\u2066\u2069\ufeff\ufff9\U000e0041"
)
"""Controls of seven and eight bits, line breaks, bidirectional and invisible characters."""
NOT_UNICODE = "\udc9b\udcff" if sys.platform == "linux" else ""
NAME = EVIL.replace("/", "_") + NOT_UNICODE


def harm(text: str) -> list[str]:
    """Yield parts of a text that a terminal could obey, or that look like our output."""
    found = [char for char in text if not (char.isprintable() or char in "\n\t")]
    return found + [line for line in text.split("\n") if line.startswith(SPOOF)]


def evil(value: Any) -> Any:
    """Return a document whose texts and additional keys end in harmful characters."""
    if isinstance(value, dict):
        whole = {
            key: evil(item) if key != "status" else item for key, item in value.items()
        }
        return {**whole, EVIL: EVIL}
    if isinstance(value, list):
        return [evil(item) for item in value]
    return value + EVIL if isinstance(value, str) else value


def document() -> dict[str, Any]:
    """Return a document with every field; statuses and times are unchanged."""
    whole: dict[str, Any] = evil(load(DOCUMENT.read_bytes()))
    whole["mode"] = "standard"
    return whole


def event(kind: type[Event], **known: Any) -> Event:
    """Return an event of a kind with harm in every text that is not known."""
    said: dict[Any, Any] = {
        str: EVIL,
        int: 1,
        bool: True,
        dict[str, Any]: document(),
        list[dict[str, Any]]: [{"op": "add", "path": f"/{EVIL}", "value": EVIL}],
        f.Place: f.Place(f"{EVIL.replace('/', '_')}/PROGRESS.yaml"),
        tuple[f.Source, ...]: (f.Source(EVIL, EVIL),),
        tuple[str, ...]: (EVIL,),
        tuple[int, ...]: (1,),
        tuple[tuple[str, ...], ...]: ((EVIL, EVIL),),
        tuple[FileLeft, ...]: (FileLeft(EVIL, EVIL),),
        tuple[KeptCopy, ...]: (KeptCopy(EVIL, EVIL),),
        f.Usage: f.Usage(input_tokens=1),
        f.GitState: f.GitState(EVIL, is_dirty=True),
        f.Limit: f.Limit(EVIL, AT, EVIL),
        f.InjectionPosition: f.InjectionPosition(EVIL, EVIL),
        parts.Entry: part(parts.Entry, timestamp=AT),
        parts.Learning: part(parts.Learning, created_at=AT, id="learning-0001"),
        parts.Pattern: part(parts.Pattern, discovered_at=AT),
        q.RequestInjection: q.RequestInjection(EVIL, EVIL, prompt=EVIL, model=EVIL),
        q.RequestOrigin: q.RequestOrigin(EVIL, EVIL),
        float: 0.5,
        i.Metrics: i.Metrics(1, 1, build_status=EVIL, own={EVIL: 1}),
        tuple[i.OwnMetric, ...]: (i.OwnMetric(EVIL, EVIL, 0.2, 1.0, EVIL),),
        i.BestAnew: i.BestAnew(1, 1, "1/2", (EVIL,), parts=((EVIL, "1", EVIL, "1"),)),
        tuple[i.ChangedInstrument, ...]: (i.ChangedInstrument(EVIL, 1),),
        f.TurnFacts: f.TurnFacts(EVIL, EVIL, EVIL),
        tuple[f.ModelCall, ...]: (f.ModelCall(key=EVIL, model=EVIL),),
        dict[str, int]: {EVIL: 1},
        dict[str, str]: {EVIL: EVIL},
        tuple[int, ...]: (1,),
        i.Weights: i.Weights(),
        LoopRules: LoopRules(MeasureRules((EVIL,), (EVIL,), (EVIL,), (EVIL,)), until=EVIL),
        tuple[i.Origin, ...]: (i.Origin(EVIL, EVIL, EVIL, (EVIL,)),),
        i.Thresholds: i.Thresholds(),
        tuple[i.OwnMetric, ...]: (i.OwnMetric(EVIL, EVIL, pointer=EVIL),),
        Took: Took(runs=1),
        f.TurnFacts: f.TurnFacts(EVIL, EVIL, EVIL, 1, 1),
        f.Budgets: f.Budgets(5, 0.5, 9, 9, 9),
        f.Price: f.Price(1.0, 2.0),
        tuple[i.MeasuringRun, ...]: (i.MeasuringRun(EVIL, 1, output=EVIL),),
        tuple[i.KeptReport, ...]: (i.KeptReport(EVIL, 1, EVIL, EVIL),),
    }
    for one in (parts.Entry, parts.Learning, parts.Pattern):
        said[tuple[one, ...]] = (said[one],)  # type: ignore[valid-type]
    given = {}
    for name, hint in get_type_hints(kind).items():
        if name in kind.__struct_fields__:
            options = [option for option in (hint, *get_args(hint)) if option in said]
            given[name] = said[options[0]]
    return kind(**{**given, **known})


def part(kind: type[msgspec.Struct], **known: Any) -> Any:
    """Return a part of a journal with harm in every text that is not known."""
    said = {
        str: EVIL,
        int: 1,
        bool: True,
        dict[str, Any]: {EVIL: EVIL},
        tuple[str, ...]: (EVIL, EVIL),
    }
    given: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        options = [option for option in (hint, *get_args(hint)) if option in said]
        if options:
            given[name] = said[options[0]]
    if kind is parts.Entry:
        given["observations"] = (part(parts.Observation),)
        given["context"] = part(parts.Context)
    return kind(**{**given, **known})


def journal() -> Iterator[Event]:
    """Yield a journal with every event, each of them with harmful text."""
    for kind in JOURNAL_EVENTS:
        yield event(kind, **({"created_at": AT} if kind is JournalOpened else {}))


def history() -> Iterator[Event]:
    """Yield a sprint with every event, each of them with harmful text."""
    addresses = [leaf.address for leaf in Tree(document()).leaves]
    yield event(f.SprintImported, patch=None)
    others = [k for k in f.EVENTS if k not in (f.SprintImported, f.SprintCompiled)]
    for number, kind in enumerate(others, start=2):
        known: dict[str, Any] = {}
        if "phase" in kind.__struct_fields__:
            known["phase"] = addresses[number % len(addresses)]
            yield event(kind)
        if kind is f.RolledBack:
            known["to"] = 2
        if kind is q.RequestDecided:
            yield event(kind)
            known["decision"] = "defer"
            known["deferred_until"] = "next-sprint"
        if issubclass(kind, f.Injection):
            yield event(kind)
            known["into"] = ""
            known["nodes"] = [{"id": EVIL, "status": "pending", "prompt": EVIL}]
        yield event(kind, **known)
