"""HTTP delivery of messages, with a time limit, retries, and no redirects."""

import http.client
import socket
import ssl
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from hmac import digest
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from ..errors import InvalidInputError, RefusedError

STEP_SECONDS, WHOLE_SECONDS = 10.0, 30.0
"""The time limits for one network operation and for a complete exchange."""
ATTEMPTS_MAX = 5
PAUSE_SECONDS, PAUSE_SECONDS_MAX = 1.0, 60.0
"""The first pause before another attempt, which is doubled each time, and its maximum."""
_PASSES = (408, 425, 429)
ANSWER_BYTES_MAX = 64 * 1024
"""The number of bytes that are read from a response."""
SAID_CHARS_MAX = 200
_OURS = {"User-Agent": "sprintlog", "Connection": "close"}
SECRET_PREFIX = "whsec_"
SECRET_BYTES_MIN = 16


class Message(NamedTuple):
    """The content of one request."""

    body: bytes
    headers: Mapping[str, str]


class _Answer(NamedTuple):
    said: str
    """The description used in messages."""
    passes: bool = False
    """Whether another attempt may succeed."""
    retry_after: float = 0.0
    body: bytes | None = None
    """The start of the response if the message was accepted; otherwise None."""


class Target:
    """An address to which messages are delivered."""

    def __init__(
        self, url: str, *, pause: Callable[[float], object], reads_answers: bool = False
    ) -> None:
        self._parts = checked_url(url)
        self._pause = pause
        self._reads_answers = reads_answers
        is_secure = self._parts.scheme == "https"
        self._tls = ssl.create_default_context() if is_secure else None

    @property
    def name(self) -> str:
        """Return the host in the address, because the rest may be secret."""
        parts = self._parts
        port = "" if parts.port is None else f":{parts.port}"
        host = parts.hostname or ""
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"

    def deliver(self, message: Message, *, what: str) -> bytes:
        """Post a message until it is accepted, and return the start of the response.

        Raise `RefusedError` if it is not accepted: immediately if retrying cannot help,
        otherwise after the last attempt.
        """
        wait = PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS_MAX + 1):
            answer = self._post(message)
            if answer.body is not None:
                return answer.body
            if not answer.passes or attempt == ATTEMPTS_MAX:
                tried = "" if attempt == 1 else f" after {attempt} attempts"
                raise RefusedError(
                    f"{what} was not accepted{tried}: {answer.said}",
                    hint="run the same command again to continue from there",
                )
            self._pause(min(max(wait, answer.retry_after), PAUSE_SECONDS_MAX))
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _post(self, message: Message) -> _Answer:
        """Post the message once, with a limit on the total time."""
        try:
            with self._connected() as connected:
                # Otherwise a server that sends one byte at a time could block this process
                # forever.
                watch = threading.Timer(WHOLE_SECONDS, _cut, [connected])
                watch.daemon = True
                watch.start()
                try:
                    return self._exchange(connected, message)
                finally:
                    watch.cancel()
        except ssl.SSLCertVerificationError as error:
            return _Answer(_text(error))
        except (OSError, http.client.HTTPException) as error:
            return _Answer(_text(error), passes=True)

    def _connected(self) -> socket.socket:
        """Return a new connection to the server."""
        host, port = self._parts.hostname, self._parts.port
        assert host is not None
        default = http.client.HTTP_PORT if self._tls is None else http.client.HTTPS_PORT
        plain = socket.create_connection((host, port or default), STEP_SECONDS)
        if self._tls is None:
            return plain
        return self._tls.wrap_socket(
            plain, server_hostname=host, do_handshake_on_connect=False
        )

    def _exchange(self, connected: socket.socket, message: Message) -> _Answer:
        parts = self._parts
        host = parts.hostname or ""
        connection = http.client.HTTPConnection(host, parts.port)
        if isinstance(connected, ssl.SSLSocket):
            connected.do_handshake()
            connection = http.client.HTTPSConnection(host, parts.port, context=self._tls)
        connection.sock = connected
        asked = parts.path or "/"
        if parts.query:
            asked += f"?{parts.query}"
        connection.request("POST", asked, message.body, {**_OURS, **message.headers})
        response = connection.getresponse()
        if 200 <= response.status < 300:
            return _Answer("", body=_beginning(response) if self._reads_answers else b"")
        passes = response.status >= 500 or response.status in _PASSES
        said = f"the server answered {response.status}"
        return _Answer(said, passes, _seconds(response.headers.get("Retry-After")))


def checked_url(url: str) -> SplitResult:
    """Return the components of a URL; raise `InvalidInputError` if the URL is invalid."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 — reading it validates it
    except ValueError as error:
        raise InvalidInputError(f"invalid address {url[:80]!r}: {error}") from error
    is_plain = all(" " < one < "\x7f" for one in url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise InvalidInputError(f"invalid http:// or https:// address {url[:80]!r}")
    if parts.username or parts.password or parts.fragment:
        raise InvalidInputError(
            "the address must not contain a user, a password or a #fragment"
        )
    return parts


def key_of(secret: str) -> bytes:
    """Return the key in a Standard Webhooks secret (`whsec_` followed by Base64)."""
    try:
        key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not secret.startswith(SECRET_PREFIX) or len(key) < SECRET_BYTES_MIN:
        raise InvalidInputError(
            f"invalid webhook secret: must be {SECRET_PREFIX} followed by at least "
            f"{SECRET_BYTES_MIN} bytes in Base64",
            hint="run `echo whsec_$(openssl rand -base64 24)` to create one",
        )
    return key


def signed(key: bytes, body: bytes, *, id_: str, at: int) -> dict[str, str]:
    """Return the Standard Webhooks headers for a body; `at` is in seconds."""
    signature = b64encode(digest(key, f"{id_}.{at}.".encode() + body, sha256)).decode()
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{signature}",
    }


def _cut(connected: socket.socket) -> None:
    """Abort an exchange that takes too long, even if it is blocked."""
    with suppress(OSError):
        # With TLS, a regular shutdown would wait for the server.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _beginning(response: http.client.HTTPResponse) -> bytes:
    """Return the start of a response, ignoring errors: the message has been accepted."""
    try:
        return response.read(ANSWER_BYTES_MAX)
    except (OSError, http.client.HTTPException):
        return b""


def _text(error: Exception) -> str:
    """Return an error as one line; its text may come from the server."""
    return " ".join(str(error).split())[:SAID_CHARS_MAX] or type(error).__name__


def _seconds(said: str | None) -> float:
    """Return how many seconds a server asks the client to wait; 0 by default."""
    return float(said) if said is not None and said.isascii() and said.isdigit() else 0.0
