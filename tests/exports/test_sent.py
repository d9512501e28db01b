"""`export` to an address: everything is accepted once, in order, without secrets."""

import json
import os
from pathlib import Path

import pytest

from sprintlog.cli.upkeep import export
from sprintlog.cli.upkeep.export import Sent, sent_to
from sprintlog.engine.log.envelope import Head
from sprintlog.engine.sprint.events import IterationEnded
from tests import needs

from ..cli.conftest import Run
from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import run as run
from .receiver import EVENTS, SECRET, Receiver, append
from .receiver import log as log
from .receiver import pauses as pauses
from .receiver import receiver as receiver
from .told import PROMPT
from .told import SECRET as TOKEN


def test_each_event_once_and_signed(log: Path, receiver: Receiver, done: Run) -> None:
    """Each event is one message that the official library verifies; no text is sent."""
    webhooks = needs.package("standardwebhooks.webhooks", "standardwebhooks")
    answer = done("store export", "--webhook", receiver.url, "--json").json
    origin = receiver.url.partition("/hook")[0]
    assert answer == {
        "to": origin,
        "messages": EVENTS,
        "position": EVENTS,
        "spans_left_out": 0,
    }
    assert receiver.events() == [*range(1, EVENTS + 1)]
    for path, headers, body in receiver.taken:
        assert path == "/hook?x=1"
        assert headers["Content-Type"] == "application/cloudevents+json"
        said = webhooks.Webhook(SECRET).verify(body, headers)
        assert headers["webhook-id"] == said["id"]
        assert PROMPT.encode() not in body


def test_it_goes_on_where_it_was(log: Path, receiver: Receiver, done: Run) -> None:
    """Next time, only new events are sent; another address receives all of them."""
    done("store export", "--webhook", receiver.url)
    receiver.taken.clear()
    assert done("store export", "--webhook", receiver.url).out.endswith(
        f"0 messages accepted, up to event {EVENTS}\n"
    )
    append(log, IterationEnded(2))
    done("store export", "--webhook", receiver.url)
    assert receiver.events() == [EVENTS + 1]
    done("store export", "--webhook", f"{receiver.url}2")
    assert len(receiver.taken) == 1 + EVENTS + 1


@pytest.mark.parametrize(("seconds", "kept"), [(60, 0), (0, 2)])
def test_killed_in_the_middle(
    log: Path,
    receiver: Receiver,
    run: Run,
    done: Run,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    kept: int,
) -> None:
    """Events accepted but not noted are sent again with the same id; none is missing."""
    keep, left = Sent.keep, [None] * kept

    def keep_or_die(self: Sent, head: Head) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        keep(self, head)

    with monkeypatch.context() as patch:
        patch.setattr(export, "KEEP_SECONDS", seconds)
        patch.setattr(Sent, "keep", keep_or_die)
        assert run("store export", "--webhook", receiver.url).code != 0
    first = receiver.taken.copy()
    assert len(first) == (EVENTS if seconds else kept + 1)
    receiver.taken.clear()
    done("store export", "--webhook", receiver.url)
    assert receiver.events() == [*range(kept + 1, EVENTS + 1)]
    again = {headers["webhook-id"] for _, headers, _ in receiver.taken}
    assert {headers["webhook-id"] for _, headers, _ in first[kept:]} <= again


def test_the_place_of_another_log(
    log: Path, receiver: Receiver, run: Run, done: Run
) -> None:
    """A place that fits no event of this log is refused, with a command."""
    done("store export", "--webhook", receiver.url)
    (file,) = (log / ".sprintlog").glob("sent-*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(json.dumps({"position": 3, "hash": "00" * 32}))
    result = run("store export", "--webhook", receiver.url)
    assert result.code == 1
    assert "belongs to another log" in result.err
    assert "sent-" not in run("doctor").out


@pytest.mark.parametrize("made", ["link", "pipe", "folder", "words"])
def test_a_place_that_is_no_file_of_ours(
    log: Path, receiver: Receiver, run: Run, made: str
) -> None:
    """Links and pipes at the position file's path are refused, and nothing is sent."""
    file = sent_to(log / ".sprintlog", "webhook", receiver.url, None).file
    elsewhere = log / "elsewhere.json"
    elsewhere.write_text("{}" if made == "link" else "")
    if made == "link":
        file.symlink_to(elsewhere)
    elif made == "pipe":
        os.mkfifo(file)
    elif made == "folder":
        file.mkdir()
    else:
        file.write_text('{"position": "1"}')
    result = run("store export", "--webhook", receiver.url)
    assert result.code == 1
    assert f"{file.name} cannot be read" in result.err
    assert "hint: remove the file to send all events again" in result.err
    assert receiver.asked == 0


def test_what_is_secret_stays(log: Path, receiver: Receiver, run: Run, done: Run) -> None:
    """The path of an address is hidden; text is sent on request, always masked."""
    url = f"{receiver.url}&token=s3cr3t-of-mine"
    receiver.status = 404
    assert (
        "s3cr3t" not in (failed := run("store export", "--webhook", url)).err + failed.out
    )
    receiver.status = 204
    assert "s3cr3t" not in done("store export", "--webhook", url, "--with-content").out
    sent = b"".join(body for _, _, body in receiver.taken)
    assert PROMPT.encode() in sent
    assert TOKEN.encode() not in sent
    assert not [x for x in (log / ".sprintlog").glob("sent-*") if "s3cr3t" in x.read_text()]


def test_one_sprint_has_a_place_of_its_own(
    log: Path, receiver: Receiver, done: Run
) -> None:
    """With `--sprint`, only that sprint's events are sent, whatever was sent before."""
    done("store export", "--webhook", receiver.url, "--sprint", "other")
    subjects = {json.loads(body)["subject"] for _, _, body in receiver.taken}
    assert subjects == {"sprint/other"}
    receiver.taken.clear()
    done("store export", "--webhook", receiver.url)
    assert receiver.events() == [*range(1, EVENTS + 1)]


def test_an_address_stands_alone(log: Path, receiver: Receiver, run: Run) -> None:
    """A file or a format together with an address is a mistake."""
    for words in (["--out", "x"], ["--format", "csv"], ["--otlp-endpoint", "http://a"]):
        assert run("store export", "--webhook", receiver.url, *words).code == 2
