"""`export` to an address: a faulty server neither blocks the export nor loses events."""

import shutil
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from sprintlog.engine.adapters import delivery
from sprintlog.engine.sprint.events import IterationEnded
from tests import needs

from ..cli.conftest import Run
from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import run as run
from .receiver import EVENTS, Receiver, append, says, speaking
from .receiver import log as log
from .receiver import pauses as pauses
from .receiver import receiver as receiver


def test_what_fails_is_sent_again(
    log: Path, receiver: Receiver, done: Run, pauses: list[float]
) -> None:
    """After an error, a cut and a limit the same message comes again, with pauses."""
    receiver.headers = {"Retry-After": "7"}
    receiver.answers = [says(204), says(500), says(None), says(429), says(200)]
    done("store export", "--webhook", receiver.url)
    assert receiver.events() == [*range(1, EVENTS + 1)]
    assert pauses == [7, 2, 7]


def test_a_server_that_is_down(
    log: Path, receiver: Receiver, run: Run, done: Run, pauses: list[float]
) -> None:
    """After five attempts, the refused event is named; the next call continues there."""
    receiver.answers = [says(204)] * 3
    receiver.status = 503
    result = run("store export", "--webhook", receiver.url)
    assert result.code == 1
    assert (
        "event 4 was not accepted after 5 attempts: the server answered 503" in result.err
    )
    assert "hint: run the same command again to continue from there" in result.err
    assert (receiver.asked, pauses) == (8, [1, 2, 4, 8])
    receiver.status = 204
    done("store export", "--webhook", receiver.url)
    assert receiver.events() == [*range(1, EVENTS + 1)]


@pytest.mark.parametrize("status", [301, 400, 404, 410])
def test_what_no_attempt_repairs(
    log: Path, receiver: Receiver, run: Run, pauses: list[float], status: int
) -> None:
    """A refusal or a redirect is neither retried nor followed."""
    receiver.status = status
    receiver.headers = {"Location": receiver.url}
    result = run("store export", "--webhook", receiver.url)
    assert result.code == 1
    assert f"event 1 was not accepted: the server answered {status}" in result.err
    assert (receiver.asked, pauses) == (1, [])


def test_a_server_that_never_ends(
    log: Path, receiver: Receiver, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow endless answer is cut off, and no recording waits for it."""
    over = threading.Event()

    def dribble(handler: BaseHTTPRequestHandler) -> None:
        append(log, IterationEnded(2))
        while not over.wait(0.02):
            handler.wfile.write(b"H")

    monkeypatch.setattr(delivery, "WHOLE_SECONDS", 0.2)
    receiver.answers = [dribble] * delivery.ATTEMPTS_MAX
    try:
        result = run("store export", "--webhook", receiver.url)
    finally:
        over.set()
    assert result.code == 1
    assert "event 1 was not accepted after 5 attempts" in result.err


def test_a_handshake_that_never_ends(
    log: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of TLS that sends its greeting byte by byte is cut off as well."""
    over = threading.Event()

    def dribble(connected: socket.socket) -> None:
        # The header of a TLS handshake record of 16,000 bytes.
        connected.sendall(bytes([22, 3, 3, 62, 128]))
        while not over.wait(0.02):
            connected.sendall(b"\x02")

    monkeypatch.setattr(delivery, "WHOLE_SECONDS", 0.2)
    with speaking(dribble) as address:
        result = run("store export", "--webhook", f"https://{address}/")
        over.set()
    assert result.code == 1
    assert "event 1 was not accepted after 5 attempts" in result.err


def test_what_a_server_writes_is_shown_as_text(log: Path, run: Run) -> None:
    """An invalid HTTP line of a server is escaped and cut for the terminal."""

    def speak(connected: socket.socket) -> None:
        connected.recv(65536)
        connected.sendall(b"\x1b[2J" + b"A" * 5000 + b"\r\n\r\n")

    with speaking(speak) as address:
        result = run("store export", "--webhook", f"http://{address}/")
    assert result.code == 1
    assert "event 1 was not accepted after 5 attempts: " in result.err
    assert "\x1b" not in result.err
    assert len(result.err) < 500


def test_an_answer_without_an_end_is_not_read(
    log: Path, receiver: Receiver, done: Run
) -> None:
    """Only the beginning of an answer is read, and accepted events remain accepted."""
    receiver.status, receiver.body = 200, b" " * 4 * 2**20
    assert (
        done("store export", "--webhook", receiver.url, "--json").json["messages"] == EVENTS
    )
    answer = done("store export", "--otlp-endpoint", receiver.url, "--json").json
    assert (answer["messages"], answer["spans_left_out"]) == (1, 0)


def test_only_who_proves_the_name_is_sent_to(
    log: Path, receiver: Receiver, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Over TLS, nothing is sent to a server without a trusted certificate."""
    if shutil.which("openssl") is None:
        needs.program("openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        [*made.split(), *named, *files], check=True, capture_output=True, timeout=60
    )
    receiver.secure(certificate, key)
    url = receiver.url.replace("http://127.0.0.1", "https://localhost")
    result = run("store export", "--webhook", url)
    assert result.code == 1
    assert "event 1 was not accepted: [SSL: CERTIFICATE_VERIFY_FAILED]" in result.err
    assert receiver.asked == 0
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert run("store export", "--webhook", url.replace("localhost", "127.0.0.1")).code == 1
    assert receiver.asked == 0
    assert run("store export", "--webhook", url).code == 0
    assert receiver.events() == [*range(1, EVENTS + 1)]


BAD: dict[str, tuple[dict[str, str], list[str], str]] = {
    "no secret": (
        {"SPRINTLOG_WEBHOOK_SECRET": ""},
        ["--webhook", "URL"],
        "secret is missing",
    ),
    "a short secret": (
        {"SPRINTLOG_WEBHOOK_SECRET": "whsec_YWJj"},
        ["--webhook", "URL"],
        "at least 16 bytes",
    ),
    "another scheme": ({}, ["--webhook", "file:///etc/passwd"], "http:// or https://"),
    "a password": ({}, ["--webhook", "http://a:b@localhost/"], "must not contain a user"),
    "a line in it": ({}, ["--webhook", "http://a/\r\nX: y"], "http:// or https://"),
    "no header": (
        {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%0d%0aX: y"},
        ["--otlp-endpoint", "URL"],
        "must have the form name=value",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_before_anything_is_sent(
    log: Path, receiver: Receiver, run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A wrong address, secret or header causes a one-line error, and nothing is sent."""
    variables, words, said = BAD[name]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    words = [word.replace("URL", receiver.url) for word in words]
    result = run("store export", *words)
    assert result.code == 1
    assert said in result.err
    assert receiver.asked == 0
