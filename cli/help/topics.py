"""The topics of the help: every command with its one line, in exactly one of them."""

from pathlib import Path
from typing import NamedTuple

PAGES = Path(__file__).with_name("pages")


class Topic(NamedTuple):
    """What belongs together in the help."""

    title: str
    commands: dict[str, str]
    """Each with its one line; a topic may also be about something else."""


TOPICS = {
    "beginning": Topic(
        "how to begin",
        {
            "init": "Make a log for this work tree, and offer what fits it.",
            "help": "Explain a topic or a command.",
            "demo": "Play a small sprint in a fresh folder and show every command.",
            "import": "Take in what other tools left behind, or an exported log.",
            "compile": "Make a sprint from a SPRINT.yaml and its workflows.",
            "sprint": "Create a sprint and lead it through its life.",
            "goal": "Set a goal, and say that it is reached.",
        },
    ),
    "working": Topic(
        "how the work is recorded",
        {
            "wrap": "Run a command as ever, and record it as an iteration.",
            "hook": "Record what an agent's hook was handed.",
            "run": "Drive a sprint with an agent's command.",
            "next": "Say what is to be done now.",
            "status": "Show how far a sprint is.",
            "phase": "Record what happens to a phase, step or sub-phase.",
            "step": "Add steps to the plan, and record those towards a goal.",
            "gate": "Run a phase's gate, or record how it went elsewhere.",
            "queue": "Keep what was found on the way, and decide on it.",
            "hook-task": "Record what is run beside the iterations.",
            "note": "Leave a remark in the log.",
            "append": "Record events by their type, one or a stream of JSON lines.",
        },
    ),
    "judging": Topic(
        "which iteration is the best, and how it goes on",
        {
            "iteration": "Record, measure and list the iterations of the loop.",
            "best": "Show the best iteration so far.",
            "compare": "Show iterations side by side.",
            "decide": "Say what comes next: continue, stop, roll back, ask.",
            "alerts": "Show what got worse.",
            "report": "Say what the sprint came to; report on one iteration.",
            "rules": "Show or change by which rules iterations are judged.",
        },
    ),
    "lessons": Topic(
        "a journal of what was tried and learned",
        {
            "entry": "Write down what an iteration of a PRD came to.",
            "learning": "Keep what was learned, count its use, retire what is over.",
            "pattern": "Keep patterns of the codebase.",
            "prepare": "Say what the next iteration of a PRD should know.",
            "recover": "Say what to do about a failure of a PRD.",
            "journal": "Begin the journal, search it, look at its figures.",
        },
    ),
    "looking-back": Topic(
        "what happened, who did it and why",
        {
            "log": "List the events.",
            "show": "Print a state file or an event, as it is or was.",
            "diff": "Show what is different in the plan at two points.",
            "blame": "Say who set a field, when and why.",
            "why": "Say why a line of a file is as it is.",
            "replay": "Play a sprint's history and show what each event changed.",
            "audit": "List the decisions: who, when, on what evidence.",
            "query": "Ask with SQL.",
            "serve": "Show the sprints in a browser, live.",
        },
    ),
    "going-back": Topic(
        "back to an earlier state, or to better files",
        {
            "rollback": "Go back to an earlier point: plan, files or both.",
            "undo": "Take back the latest change in place.",
            "redo": "Take back the latest undo.",
            "extract": "Put an iteration's files elsewhere: a folder, a branch.",
            "fork": "Begin a new sprint from any point of an old one.",
            "adopt": "Make events of an edit that was observed.",
        },
    ),
    "agents": Topic(
        "what agents say by themselves",
        {
            "hooks": "Have an agent say what it does, or have it stop.",
            "session": "Compare what hooks said with an agent's transcript.",
            "mcp": "Offer the sprint to an agent's program as tools.",
            "rpc": "Answer a program's requests on its pipes.",
        },
    ),
    "upkeep": Topic(
        "how the log stays sound",
        {
            "rebuild": "Write the state files again from the log.",
            "verify": "Check the log, its payloads and the state files.",
            "doctor": "Look at the log and around it; save what is sound.",
            "backup": "Copy the log into one file, checked.",
            "copy": "Copy a log into another store, or what is new of it.",
            "export": "Write the whole log, or one for other tools.",
            "schema": "Print the JSON Schema of a file or of the events.",
            "config": "Show each setting and who says so; trust a file.",
            "prune": "Remove old snapshots, to free their space.",
            "redact": "Erase what was said, also from snapshots and caches.",
            "scan": "Look for secrets in all that is kept.",
            "head": "Write the head of the log down, and sign it.",
            "prove": "Write a file that proves one event.",
            "completion": "Print the completion script of a shell.",
            "uninstall": "Remove what was installed, and the log if you say so.",
            "extensions": "Show what packages of others bring, and try it.",
        },
    ),
    "recording": Topic("the options of every command that records", {}),
    "reading": Topic("the options of every command that answers", {}),
    "points": Topic("how a moment of the past is named", {}),
    "scripts": Topic("what a script can rely on", {}),
}
"""Every topic by its id."""

DAILY = (
    "init",
    "wrap",
    "run",
    "status",
    "log",
    "best",
    "rollback",
    "undo",
    "diff",
    "blame",
)
"""What the first screen explains; the others are named there by topic."""

LINES = {name: line for topic in TOPICS.values() for name, line in topic.commands.items()}
"""Every command with its one line."""


def page(topic: str) -> str:
    """Return the text of a topic; a line that begins with `$` is an example."""
    return (PAGES / f"{topic}.txt").read_text(encoding="utf-8")
