"""`sprintlog queue …`, from the command line to the log and back."""

import json
from pathlib import Path
from typing import Any

import pytest

URGENT = ("--priority", "high", "--type", "bug")
WHY = ("--reasoning", "So")


@pytest.fixture
def queue(sprint: Path, done: Any) -> Path:
    """Return a folder with a sprint and two requests."""
    done("queue", "add", "Crash", *URGENT)
    done("queue", "add", "Manual", "--priority", "low", "--type", "docs", "--id", "doc")
    return sprint


def statuses(done: Any, *more: str) -> dict[str, str]:
    """Return the status of each request."""
    found = done("queue", "list", "--json", *more).json
    return {request["id"]: request["status"] for request in found}


def types(done: Any, count: int) -> list[str]:
    """Return the types of the last events."""
    return [event["type"] for event in done("log", "--json").lines[-count:]]


def test_answers_with_the_id(sprint: Path, done: Any) -> None:
    """`queue add` prints the id of the request."""
    answer = done("queue", "add", "Crash", *URGENT, "--json").json
    assert (answer["type"], answer["request"]) == ("request-queued", "req-1")
    assert "request-queued req-2" in done("queue", "add", "Crash", *URGENT).out


def test_lists_in_recording_order(queue: Path, done: Any) -> None:
    """The list is a table, or JSON with `--json`, and can be filtered."""
    assert done("queue", "list").out.splitlines() == [
        "req-1  pending  high  bug   Crash",
        "doc    pending  low   docs  Manual",
    ]
    assert list(statuses(done)) == ["req-1", "doc"]
    assert list(statuses(done, "--type", "docs", "--priority", "low")) == ["doc"]
    assert list(statuses(done, "--priority", "low", "--priority", "high")) != []
    assert done("queue", "list", "--status", "backlog").out == "no requests\n"
    done("queue", "defer", "doc", *WHY, "--until", "end-of-phase")
    assert "deferred (end-of-phase)" in done("queue", "list").out


def test_shows_why_a_decision_was_taken_back(queue: Path, done: Any) -> None:
    """The history of a request has the reason for its reopening."""
    done("queue", "reject", "doc", *WHY)
    done("queue", "reopen", "doc", "--reason", "people ask for it")
    assert done("queue", "show", "doc").out.rstrip().endswith("reopened: people ask for it")


def test_lists_as_of_earlier(queue: Path, done: Any) -> None:
    """The queue of any earlier point can be read."""
    assert list(statuses(done, "--at", "version:3")) == ["req-1"]


def test_approves_and_injects_at_once(queue: Path, done: Any) -> None:
    """Decision and injection are one append, and the answer names the phases."""
    decided, came = done("queue", "approve", "req-1", *WHY, "--json").json
    assert (decided["type"], decided["request"]) == ("request-decided", "req-1")
    assert came["addresses"] == ["fix-req-1-0"]
    events = done("log", "--json").lines[-2:]
    assert [event["remaining"] for event in events] == [1, 0]
    answer = done("queue", "approve", "req-1", *WHY, "--json").json
    assert answer["unchanged"] is True


def test_says_what_the_loop_works_on(queue: Path, done: Any) -> None:
    """An approval names its injected phase, and a dry run only that."""
    events = done("log", "--json").lines
    coming = "the loop works on phase fix-req-1-0: Repair\n"
    line = ("queue", "approve", "req-1", *WHY, "--prompt", "Repair")
    assert done(*line, "--dry-run").out == coming
    would = done(*line, "--dry-run", "--json").json
    assert (would["decision"], would["addresses"]) == ("approve", ["fix-req-1-0"])
    assert done("log", "--json").lines == events
    assert done(*line).out.endswith(f"\n{coming}")
    assert done(*line, "--dry-run").out == "nothing to do\n"


def test_says_when_it_was_asked_and_by_whom(queue: Path, done: Any) -> None:
    """The iteration of the request and its author, next to its text."""
    assert "\n  asked: by runtime\n" in done("queue", "show", "doc").out
    done("iteration", "start")
    done("queue", "add", "Slow", *URGENT, "--actor", "operator:ana")
    shown = done("queue", "show", "req-2")
    assert "\n  asked: in iteration 1, by operator:ana\n" in shown.out
    assert "with your own `--prompt TEXT` if given" in shown.err


def test_approves_with_all_that_an_injection_takes(queue: Path, done: Any) -> None:
    """Position, prompt, prefix and model are as given."""
    done(
        *("queue", "approve", "req-1", *WHY, "--position", "before:review", "--prompt"),
        *("Repair", "--id-prefix", "hot", "--model", "opus"),
    )
    shown = done("queue", "show", "req-1", "--json").json
    assert shown["injection"] == {
        "position": {"type": "before", "ref": "review"},
        "prompt": "Repair",
        "id_prefix": "hot",
        "model": "opus",
    }
    added = done("show", "progress", "--json").json["phases"][2]
    assert (added["id"], added["prompt"], added["model"]) == ("hot-0", "Repair", "opus")


def test_approves_a_workflow(queue: Path, run: Any, done: Any) -> None:
    """All phases of a workflow are injected in place of a prompt."""
    home = queue / ".claude" / "workflows"
    home.mkdir(parents=True)
    (home / "bugfix.yaml").write_text("phases: [{id: x, prompt: X}, {id: y, prompt: Y}]")
    command = ("queue", "approve", "req-1", *WHY, "--workflow", "bugfix")
    assert run(*command, "--prompt", "x").code == 2
    _, came = done(*command, "--json").json
    assert came["addresses"] == ["fix-req-1-0", "fix-req-1-1"]
    assert (
        done("queue", "show", "req-1", "--json").json["injection"]["workflow"] == "bugfix"
    )


def test_a_title_is_enough(queue: Path, done: Any) -> None:
    """A request has medium priority and is an improvement unless it states otherwise."""
    done("queue", "add", "Name the user")
    *_, request = done("queue", "list", "--json").json
    assert (request["priority"], request["type"]) == ("medium", "improvement")


def test_refusals_name_the_option(queue: Path, run: Any) -> None:
    """Impossible injections and decisions are reported by the typed option."""
    refused = run("queue", "approve", "req-1", *WHY, "--prompt", " ")
    assert (refused.code, "'--prompt': the value must not" in refused.err) == (2, True)
    assert run("queue", "approve", "nope", *WHY).code == 3
    assert run("queue", "approve", "req-1").code == 2
    refused = run("queue", "add", " ", *URGENT)
    assert (refused.code, "'[TITLE]': the value must not" in refused.err) == (2, True)
    refused = run("queue", "add", "Other", *URGENT, "--id", "doc")
    assert "error: --id: the id doc was already used" in refused.err
    refused = run("queue", "add", "x", *URGENT, "--context", "[]")
    assert "error: --context: must be a JSON object" in refused.err
    assert run("queue", "add").code == 2


def test_decides_once(queue: Path, run: Any, done: Any) -> None:
    """Reject, defer and backlog are recorded; anything else then is refused."""
    done("queue", "reject", "req-1", *WHY, "--reason", "No")
    done("queue", "backlog", "doc", *WHY)
    assert statuses(done) == {"req-1": "rejected", "doc": "backlog"}
    refused = run("queue", "defer", "doc", *WHY, "--until", "next-sprint", "--json")
    told = json.loads(refused.err)
    assert (refused.code, told["state"], told["command"]) == (1, "backlog", "defer")
    assert told["allowed"] == []


def test_shows_who_decided_and_what_was_taken_back(queue: Path, done: Any) -> None:
    """A request is shown with its history, decisions that were rolled back among it."""
    done("queue", "approve", "req-1", *WHY, "--actor", "operator:ana")
    done("rollback", "version:4")
    done("queue", "backlog", "req-1", "--reasoning", "Not now")
    shown = done("queue", "show", "req-1", "--json").json
    assert (shown["status"], shown["reasoning"]) == ("backlog", "Not now")
    history = [(s.get("decision"), s["actor"], s["in_force"]) for s in shown["history"]]
    assert history == [
        (None, "runtime", True),
        ("approve", "operator:ana", False),
        ("backlog", "runtime", True),
    ]
    assert "approve: So  (rolled back)" in done("queue", "show", "req-1").out
    assert "Crash" in done("queue", "show", "req-1", "--at", "version:3").out


def test_keys_answer_again(sprint: Path, done: Any, run: Any) -> None:
    """A request or a decision with a key is recorded once."""
    command = ("queue", "add", "Crash", *URGENT, "--key", "k", "--json")
    first = done(*command).json
    assert done(*command).json == {**first, "duplicate": True}
    assert run("queue", "add", "Other", *URGENT, "--key", "k").code == 5


def test_rules_decide_when_asked(queue: Path, run: Any, done: Any) -> None:
    """Dry first, then in one append; the actor and the rule are recorded."""
    assert run("queue", "decide").code == 2
    dry = done("queue", "decide", "--auto", "--dry-run", "--json").json
    assert [(said["request"], said["decision"]) for said in dry] == [
        ("req-1", "approve"),
        ("doc", "backlog"),
    ]
    assert dry[0]["addresses"] == ["fix-req-1-0"]
    assert "pending" in statuses(done).values()
    assert (
        "req-1  approve  by rule urgent"
        in done("queue", "decide", "--auto", "--dry-run").out
    )
    done("queue", "decide", "--auto", "--actor", "agent:night")
    assert statuses(done) == {"req-1": "approved", "doc": "backlog"}
    assert types(done, 3) == ["request-decided", "phase-injected", "request-decided"]
    assert done("queue", "show", "doc", "--json").json["rule"] == "low-docs"
    assert done("queue", "decide", "--auto", "--dry-run").out == "nothing is pending\n"
    assert "nothing to record" in done("queue", "decide", "--auto").out


def test_tells_what_rules_could_not_decide(queue: Path, done: Any) -> None:
    """A rule's decision that the sprint refuses leaves it pending, and is reported."""
    for phase in ("setup", "build/login/implement", "build/login/check", "review"):
        done("phase", "skip", phase)
    done("queue", "reject", "req-1", *WHY)
    completed = done("sprint", "complete")
    assert "warning: 1 request in the operator queue without a decision" in completed.err
    done("queue", "add", "Crash", *URGENT)
    told = done("queue", "decide", "--auto")
    assert "warning: req-2 stays pending: " in told.err
    assert statuses(done) == {"req-1": "rejected", "doc": "backlog", "req-2": "pending"}
    dry = done("queue", "decide", "--auto", "--dry-run").out
    assert "req-2  approve  by rule urgent  refused: " in dry


def test_status_counts_the_queue(queue: Path, done: Any) -> None:
    """`status` includes the state of the queue."""
    done("queue", "backlog", "doc", *WHY)
    assert "queue: 1 for you to decide, 1 backlog" in done("status").out
    assert done("status", "--json").json["queue"] == {"pending": 1, "backlog": 1}


def test_deferral_comes_back_with_what_ends_it(queue: Path, done: Any) -> None:
    """The event that ends the phase and the return are one append, whoever records it."""
    done("queue", "defer", "req-1", *WHY, "--until", "end-of-phase")
    done("append", "phase-skipped", "--data", '{"phase": "setup"}')
    assert types(done, 2) == ["phase-skipped", "request-returned"]
    done("queue", "defer", "req-1", *WHY, "--until", "end-of-phase")
    for leaf in ("implement", "check"):
        started = f'{{"phase": "build/login/{leaf}"}}'
        answer = done("append", "phase-completed", "--observed", "--data", started)
    assert "request-returned req-1" in answer.out
    events = done("log", "--json").lines[-2:]
    assert [event["observed"] for event in events] == [True, False]


def test_texts_are_masked(sprint: Path, done: Any) -> None:
    """Tokens in titles, descriptions, contexts, prompts and reasons are not recorded."""
    token = "ghp_" + "a1" * 18
    context = json.dumps({"snippet": [token]})
    done("queue", "add", f"t {token}", "--description", f"d {token}", *URGENT,
         "--context", context)  # fmt: skip
    done("queue", "approve", "req-1", "--reasoning", token, "--prompt", f"p {token}")
    done("queue", "add", f"t {token}", *URGENT)
    done("queue", "reject", "req-2", "--reasoning", token, "--reason", token)
    (sprint / "found").write_text(
        json.dumps([{"title": token, "priority": "low", "type": "docs"}])
    )
    done("queue", "add", "--file", "found")
    data = json.dumps({"request": "req-3", "decision": "backlog", "reasoning": token})
    done("append", "request-decided", "--data", data)
    assert token not in done("log", "--json").out
    done("queue", "add", token, *URGENT, "--no-mask")
    assert token in done("log", "--json").out
