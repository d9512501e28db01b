"""A client and its server: order, cancelling, following, refusals, robustness."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.intake import command_data
from sprintlog.cli.rpc import frames, session
from sprintlog.cli.rpc.methods import METHODS
from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.service import handle

from ..cli.conftest import Run, read_state
from .conftest import Beside, Client, Here
from .test_frames import HOSTILE

LINGERS = "echo $$ > pid; echo begun >&2; sleep 600"
"""An agent that writes down its number and does not end."""


def test_a_handshake_says_who_and_what(sprint: Path) -> None:
    """The answer has the protocol and the methods; the actor applies to later requests."""
    with Here() as client:
        name = {"name": "tester", "version": "1"}
        found = client.ask("initialize", client=name, protocol=1, actor="agent:tester")
        assert (found["protocol"], found["actor"]) == (1, "agent:tester")
        assert found["methods"] == [*METHODS]
        client.record("add-note", text="hi")
        client.record("add-note", text="ho", about={"actor": "operator:ann"})
        log = client.ask("ask", question="log", given={"after": 2})
        assert [one["actor"] for one in log] == ["agent:tester", "operator:ann"]


def test_another_protocol_is_refused(client: Client) -> None:
    """The error names the supported protocol, and the client can continue."""
    error = client.refused("initialize", protocol=2)
    assert error.code == -32001
    assert error.message == "params.protocol: protocol 2 is not supported; supported: 1"
    assert client.refused("initialize", actor="root").code == -32002
    assert client.ask("ask", question="status")["sprint"] == "auth"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_line_ends_a_session(client: Client, name: str) -> None:
    """An invalid request gets an error, and the next request is answered normally."""
    line, code = HOSTILE[name]
    if line:
        assert client.line(line)["error"]["code"] == code
    assert client.ask("ask", question="status")["sprint"] == "auth"


WRONG: list[tuple[str, dict[str, Any], int, str]] = [
    ("status", {}, frames.UNKNOWN_METHOD, "there is no method 'status'; available: init"),
    ("ask", {}, frames.INVALID_PARAMS, "missing required field `question`"),
    ("ask", {"question": "x", "at": "1"}, frames.INVALID_PARAMS, "unknown field `at`"),
    ("ask", {"question": "statu"}, -32003, "'statu' is not available here"),
    ("ask", {"question": "status", "given": {"x": "1"}}, -32001, "x: is unknown"),
    ("ask", {"question": "status", "given": {"at": []}}, -32602, "params.given[...]"),
    ("record", {"command": {}}, -32001, "command.type: there is no command 'None'"),
    (
        "record",
        {"command": {"type": "add-note", "txt": "x"}},
        -32001,
        "missing required field `text`",
    ),
    (
        "record",
        {"command": {"type": "add-note", "text": "x", "by": "y"}},
        -32001,
        "command.by: there is no such field",
    ),
    (
        "record",
        {
            "command": {
                "type": "inject-phases",
                "nodes": [],
                "position": {"type": "after", "at": "x"},
            }
        },
        -32001,
        "command.position.at: there is no such field",
    ),
    (
        "record",
        {"command": {"type": "create-sprint", "plan": {"phases": [{"id": 1}]}}},
        -32001,
        "command.plan: phases[0].id",
    ),
    (
        "record",
        {"command": {"type": "add-note", "text": "x"}, "expect": 1},
        -32005,
        "is at",
    ),
    ("append", {"type": "no-such"}, -32003, "there is no event type 'no-such'"),
    ("follow", {"after": 99}, -32001, "after: the log ends at position 2"),
    ("call", {"words": []}, -32602, "params.words"),
    ("call", {"words": ["show", "event", "99"]}, -32003, "there is no position 99"),
    ("call", {"words": ["completion", "bash"]}, -32002, "--json"),
    ("schema", {"of": "words"}, -32602, "params.of"),
]


def test_wrong_requests_get_one_answer(client: Client) -> None:
    """Each error names method, field or value, has the right code, and changes nothing."""
    for method, params, code, said in WRONG:
        error = client.refused(method, **params)
        assert error.code == code, (method, params, error.message)
        assert said.lower() in error.message.lower(), (method, error.message)
    assert client.ask("ask", question="status")["version"] == 2


def test_a_refusal_has_the_fields_of_json(client: Client, run: Run) -> None:
    """`data` has the fields of the command with --json."""
    error = client.refused("record", command={"type": "start-phase", "phase": "no"})
    typed = run("phase", "start", "no", "--json")
    assert error.data == json.loads(typed.err)
    assert error.code == -32000 - typed.code


def test_a_notification_is_done_without_an_answer(client: Client) -> None:
    """A request without an id is handled in its turn, without an answer."""
    client.notify("record", command={"type": "add-note", "text": "hi"})
    client.notify("record", command={"type": "no-such"})
    client.notify("no-such")
    assert client.ask("ask", question="status")["version"] == 3
    assert client.told == []


def test_an_id_is_of_one_request_at_a_time(client: Client) -> None:
    """A second request with an id that is not answered yet is refused."""
    number = client.send("call", words=["status"])
    again = {"jsonrpc": "2.0", "id": number, "method": "ask"}
    said = client.line(json.dumps({**again, "params": {"question": "status"}}).encode())
    assert said["error"]["message"] == "id: another request with this id is pending"
    assert client.wait(number)["answer"]["sprint"] == "auth"


def test_requests_are_done_in_order_and_files_follow(client: Client, sprint: Path) -> None:
    """A question after a command sees its result, and acknowledged ones are in the file."""
    numbers = [
        client.send("record", command={"type": "add-note", "text": f"note {n}"})
        for n in range(20)
    ]
    status = client.send("ask", question="status")
    started = client.send("record", command={"type": "start-phase", "phase": "setup"})
    assert [client.wait(number)["version"] for number in numbers] == [*range(3, 23)]
    assert client.wait(status)["version"] == 22
    assert client.wait(started)["version"] == 23
    assert read_state(sprint)["phases"][0]["status"] == "in-progress"


def test_a_key_records_once(client: Client) -> None:
    """A repeated key returns the first result; another command with that key conflicts."""
    about = {"key": "k"}
    first = client.record("add-note", text="hi", about=about)
    again = client.record("add-note", text="hi", about=about)
    assert again == {**first, "duplicate": True}
    other = {"type": "add-note", "text": "ho"}
    assert client.refused("record", command=other, **about).code == -32005


def test_secrets_are_masked_unless_that_is_off(client: Client) -> None:
    """A text with a secret is masked before it is recorded."""
    secret = "ghp_" + "a1B2" * 9
    client.record("add-note", text=f"token {secret}")
    client.record("add-note", text=f"token {secret}", about={"mask": False})
    log = client.ask("ask", question="log", given={"after": 2})
    assert [secret in one["data"]["text"] for one in log] == [False, True]


def test_nothing_is_recorded_where_that_is_off(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SPRINTLOG_OFF, commands are refused with a reason, and questions answered."""
    monkeypatch.setenv("SPRINTLOG_OFF", "1")
    error = client.refused("record", command={"type": "add-note", "text": "hi"})
    assert error.message == "nothing is recorded: SPRINTLOG_OFF=1"
    assert client.ask("ask", question="status")["version"] == 2


def test_events_are_told_from_a_position(client: Client, done: Run) -> None:
    """Past and new events arrive once each, in order, until the subscription ends."""
    found = client.ask("follow", after=0)
    client.record("add-note", text="mine")
    done("note", "theirs")
    events = client.events(4)
    assert [one["position"] for one in events] == [1, 2, 3, 4]
    assert [one["data"].get("text") for one in events[2:]] == ["mine", "theirs"]
    assert events == client.ask("ask", question="log", given={})
    assert client.ask("unfollow", subscription=found["subscription"]) == {"ended": True}
    assert client.ask("unfollow", subscription=found["subscription"]) == {"ended": False}
    client.record("add-note", text="unheard")
    assert len(client.events(0)) == 4


def test_one_stream_is_told_alone(client: Client, done: Run) -> None:
    """Other streams' events are omitted; without a position, only new events are sent."""
    assert client.ask("follow", stream="journal")["after"] == 2
    client.record("add-note", text="not of the journal")
    done("journal", "open", "--project-name", "auth")
    (event,) = client.events(1)
    assert (event["stream"], event["position"]) == ("journal", 4)


def test_subscriptions_are_bounded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """One subscription too many is refused, because each has a thread and an open log."""
    monkeypatch.setattr(session, "SUBSCRIPTIONS_MAX", 1)
    client.ask("follow")
    assert client.refused("follow").code == -32001


def test_what_waits_can_be_cancelled(client: Client) -> None:
    """A request that has not started is answered as cancelled, and has no effect."""
    numbers = [
        client.send("record", command={"type": "add-note", "text": f"{n}"})
        for n in range(50)
    ]
    assert client.ask("cancel", id=numbers[-1]) == {"known": True}
    assert client.ask("cancel", id="nobody") == {"known": False}
    for number in numbers[:-1]:
        client.wait(number)
    message = client.answers.pop(numbers[-1], None) or client.next()
    assert message["error"]["code"] == frames.CANCELLED
    assert client.ask("ask", question="status")["version"] == 2 + 49


def test_a_process_can_be_cancelled(client: Client, sprint: Path, done: Run) -> None:
    """Its children end, and the loop records the reason, as after Ctrl-C."""
    number = client.send("call", words=["run", "--", "sh", "-c", LINGERS])
    agent = _pid(sprint)
    client.ask("cancel", id=number)
    message = client.answers.pop(number, None) or client.next()
    while message.get("id") != number:
        message = client.next()
    assert message["error"]["code"] == frames.CANCELLED
    with pytest.raises(ProcessLookupError):
        os.kill(agent, 0)
    (ended,) = [
        event
        for event in client.ask("ask", question="log")
        if event["type"] == "sprint-interrupted"
    ]
    assert ended["data"]["reason"] == "the loop was ended by SIGTERM"
    done("verify")


def test_a_killed_server_leaves_no_process(sprint: Path, done: Run) -> None:
    """A called process ends with the server, as by `cancel`."""
    with Beside() as server:
        server.client.send("call", words=["run", "--", "sh", "-c", LINGERS])
        agent = _pid(sprint)
        server.process.kill()
    until = time.monotonic() + 60
    while "sprint-interrupted" not in done("log", "--all").out:
        assert time.monotonic() < until
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(agent, 0)


def _pid(folder: Path) -> int:
    """Wait for the output of `LINGERS`."""
    file = folder / "pid"
    until = time.monotonic() + 60
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(file.read_text())


def test_what_a_process_says_is_progress(client: Client) -> None:
    """Messages for people arrive unchanged, with the id of the request."""
    client.record("start-phase", phase="setup")
    client.record("pause-sprint")
    number = client.send("call", words=["phase", "complete", "setup"])
    assert client.wait(number)["answer"]["type"] == "work-done"
    (told,) = client.told
    assert told["method"] == "progress"
    assert told["params"]["id"] == number
    assert told["params"]["text"].startswith("warning: the sprint is paused")


def test_another_log_in_its_place_is_opened(
    client: Client, sprint: Path, done: Run
) -> None:
    """A moved log is reported as missing, as by a command, and a new one is found."""
    client.record("add-note", text="hi")
    folder = sprint / ".sprintlog"
    folder.rename(sprint / "away")
    assert "there is no log" in client.refused("ask", question="status").message
    done("init")
    assert client.ask("ask", question="sprint list") == []
    (sprint / ".sprintlog" / "log.db").unlink()
    folder.rename(sprint / "other")
    (sprint / "away").rename(folder)
    assert client.ask("ask", question="status")["version"] == 3


def test_what_was_erased_is_not_answered(client: Client, done: Run) -> None:
    """A session that knows a text forgets it together with the log."""
    client.record("block-phase", phase="setup", reason="the word is xyzzy")
    assert "xyzzy" in json.dumps(client.ask("ask", question="log"))
    assert "xyzzy" in json.dumps(client.ask("ask", question="show progress"))
    done("redact", "3", "4", "--reason", "secret", "--yes")
    for question in ("log", "show progress", "status"):
        assert "xyzzy" not in json.dumps(client.ask("ask", question=question))


def test_a_rollback_beside_it_is_seen(client: Client, done: Run) -> None:
    """A rollback by a command changes the session's next answers."""
    client.record("start-phase", phase="setup")
    done("rollback", "version:2", "--plan", "--reason", "no")
    assert client.ask("ask", question="status")["version"] == 4
    plan = client.ask("ask", question="show progress")["phases"]
    assert plan[0]["status"] == "pending"


def test_it_ends_with_its_input(sprint: Path) -> None:
    """All requests are answered, and the exit status is 0; a last line needs no newline."""
    with Beside() as server:
        client = server.client
        numbers = [
            client.send("call", words=["status"]),
            client.send("ask", question="next"),
        ]
        assert server.process.stdin is not None
        server.process.stdin.close()
        for number in numbers:
            client.wait(number)
        assert server.end() == 0


def test_who_reads_no_answers_ends_it(sprint: Path, done: Run) -> None:
    """The call of a disconnected client ends with a record; its file is complete."""
    with Beside() as server:
        client = server.client
        client.ask("ask", question="status")
        client.send("call", words=["run", "--", "sh", "-c", LINGERS])
        agent = _pid(sprint)
        assert server.process.stdout is not None
        server.process.stdout.close()
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(60) in (0, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(agent, 0)
    assert "sprint-interrupted" in done("log", "--all").out
    done("verify")


@pytest.mark.parametrize(
    "fault",
    [OSError(28, "No space left on device"), KeyError("x"), UnreadableError("torn")],
)
def test_what_is_recorded_is_answered_though_its_file_fails(
    client: Client, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """An error would make the client record again, so the existing event is returned."""
    faults = [fault]

    def fail(service: Any, stream: str) -> Any:
        if faults:
            raise faults.pop()
        return whole(service, stream)

    whole = handle.refresh
    before = client.ask("ask", question="log")
    monkeypatch.setattr(handle, "refresh", fail)
    answer = client.record("add-note", text="hi")
    assert answer["position"] == len(before) + 1
    assert len(client.ask("ask", question="log")) == len(before) + 1


def test_a_defect_says_where_to_look(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer does not claim that anything was recorded, because that is unknown."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(command_data, "command_of", fail)
    error = client.refused("record", command={"type": "add-note", "text": "hi"})
    assert error.code == frames.INTERNAL_ERROR
    assert "nothing was recorded" not in str(error.data)
    assert error.data is not None
    assert "`sprintlog log`" in error.data["hint"]
