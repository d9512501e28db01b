"""The `--json` answer of each command, and its JSON Schema."""

from typing import Any

import msgspec

from sprintlog.engine.journal.briefing import Prepared
from sprintlog.engine.journal.parts import Entry, Learning, Observation, Pattern
from sprintlog.engine.judging.changes import Alert

from ..history.why import WhyAnswer
from ..sql.groups import GroupedResults
from ..sql.schema import TableAnswer
from . import (
    back,
    events,
    files,
    history,
    iterations,
    journal,
    log,
    quality,
    queue,
    races,
    runs,
    sessions,
    settings,
    work,
)

RECORDED = (events.Recorded, list[events.Recorded], events.Unchanged)
"""The answer of each recording command that has no specific answer."""

LINES = {
    *("append", "init", "log", "query", "rebuild", "replay", "setup", "why"),
    *("import journal", "import progress", "import transcript"),
}
"""Commands that answer with one line for each result."""

_LOOPS = ("orchestrator", "aiwg", "ralph-loop", "prd", "transcript")
DOCUMENT = dict[str, Any]
"""A state file, an export or a schema, whose format is documented separately."""

ANSWERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("fork", "race apply", "redo", "restore"), (back.WentBack,)),
    **dict.fromkeys(("rollback", "undo"), (back.WentBack,)),
    **dict.fromkeys(("schema", "show best", "show journal", "show progress"), (DOCUMENT,)),
    **dict.fromkeys(("store backup", "store copy", "store import"), (log.LogCopied,)),
    **dict.fromkeys(("import journal", "import progress"), (log.TakenIn,)),
    **dict.fromkeys((f"import {name}" for name in _LOOPS), (log.LoopTaken,)),
    "adopt": (back.Adopted,),
    "audit": (history.Audit,),
    "compile": (*RECORDED, log.CompiledAnswer),
    "config": (settings.SettingsAnswer,),
    "diff": (history.DifferenceAnswer, list[DOCUMENT]),
    "doctor": (log.Checks, log.SalvagedLog),
    "extensions check": (settings.ExtensionsChecked,),
    "extensions project": (settings.ProjectedAnswer,),
    "extensions list": (settings.ExtensionsInstalled,),
    "race clean": (back.CleanedRace,),
    "gate record": (work.GateAnswer, *RECORDED),
    "gate run": (work.GateAnswer, *RECORDED),
    "gate show": (work.GateStanding, list[work.GateStanding]),
    "session reconcile": (sessions.Reconciled,),
    "setup": (settings.SetupAnswer, log.TakenIn, log.LoopTaken),
    "init": (log.LogPlace, log.TakenIn),
    "iteration alerts": (list[Alert],),
    "iteration best": (iterations.BestAnswer,),
    "iteration compare": (quality.IterationComparison,),
    "iteration decide": (iterations.AdviceRecorded, iterations.AdviceInForce),
    "iteration diff": (files.Differences,),
    "iteration rules show": (quality.RulesAnswer,),
    "iteration select": (
        iterations.SelectionRecorded,
        iterations.SelectionInForce,
        back.WentBack,
    ),
    "iteration snapshot": (files.SnapshotAnswer, *RECORDED),
    "journal entry list": (list[Entry],),
    "journal entry observations": (list[Observation],),
    "journal entry show": (Entry,),
    "journal learning extract": (list[journal.Proposal], *RECORDED),
    "journal learning list": (list[Learning],),
    "journal learning show": (Learning,),
    "journal migrate": (journal.Migrated, *RECORDED),
    "journal pattern list": (list[Pattern],),
    "journal search": (list[journal.FoundText],),
    "journal status": (journal.JournalFigures,),
    "list": (list[iterations.JudgedIteration], GroupedResults),
    "log": (events.WholeEvent,),
    "next": (work.Next,),
    "prepare": (Prepared,),
    "query": (TableAnswer, DOCUMENT),
    "queue approve": (queue.RulingAnswer, *RECORDED),
    "queue decide": (list[queue.RulingAnswer], *RECORDED),
    "queue list": (list[queue.RequestAnswer],),
    "queue show": (queue.RequestWithHistory,),
    "rebuild": (log.Rebuilt,),
    **dict.fromkeys(("race start", "race join", "race show"), (races.RaceAnswer,)),
    "recover": (journal.RecoveryAnswer,),
    "scan": (list[log.LeakFound],),
    "redact": (log.Redaction, log.RedactionDone),
    "replay": (history.StepAnswer,),
    "report": (
        iterations.IterationAnswer,
        iterations.IterationsAnswer,
        list[quality.Written],
        DOCUMENT,
    ),
    "run": (work.Next, runs.DryRun),
    "serve": (log.LogServed,),
    "show event": (events.WholeEvent,),
    "show iteration": (files.SnapshotFiles,),
    "show session": (sessions.SessionAnswer, list[sessions.SessionAnswer]),
    "sprint list": (list[work.SprintRow],),
    "uninstall": (log.Uninstalled,),
    "status": (work.Status,),
    "store export": (log.LogCopied, log.LogSent),
    "store prune": (
        files.Pruned,
        files.Pruning,
        sessions.SessionsPruned,
        sessions.SessionsPruning,
    ),
    "verify": (log.Verified, log.ProofAnswer),
    "verify head": (log.HeadAnswer,),
    "verify prove": (log.ProofAnswer,),
    "wait": (work.WaitEnded,),
    "why": (WhyAnswer, history.BlameAnswer, history.BlamedLine),
}
"""The answers by command; other commands return the answer of recording commands."""


def schemas(name: str | None = None) -> dict[str, Any]:
    """Return the JSON Schema of each answer by command, or of one command's answer."""
    wanted = {name: ANSWERS.get(name, RECORDED)} if name else {"": RECORDED, **ANSWERS}
    kinds = dict.fromkeys(kind for found in wanted.values() for kind in found)
    made, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    known = dict(zip(kinds, made, strict=True))
    found = {
        command or "every other command": known[these[0]]
        if len(these) == 1
        else {"anyOf": [known[kind] for kind in these]}
        for command, these in wanted.items()
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": parts}
    if name is not None:
        return {**head, "title": f"sprintlog {name}", **found[name]}
    return {**head, "title": "sprintlog answers", "type": "object", "properties": found}
