"""The server process: its socket, signals and messages on stderr."""

import logging
import socket
import sys
from collections.abc import Callable

import structlog
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sprintlog.errors import RefusedError
from sprintlog.formatting import visible

CONNECTIONS_MAX = 512
END_SECONDS = 1
"""The time limit for open requests when the server stops."""
_CUT_SHORT = "without completing"
"""Part of the log message about open streams at shutdown; pages reconnect automatically."""

Tell = Callable[..., None]


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise `RefusedError` if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(CONNECTIONS_MAX)
    except OSError as error:
        listening.close()
        said = f"cannot listen on {host}, port {port}: {error.strerror}"
        hint = "run `sprintlog serve --port 0` to use a free port"
        raise RefusedError(said, hint=hint) from error
    except OverflowError as error:
        listening.close()
        raise RefusedError(f"invalid port {port}") from error
    return listening


def made(app: ASGIApp) -> uvicorn.Server:
    """Return a server that runs an application with sprintlog's limits."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=END_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
    )
    return uvicorn.Server(config)


def logger(*, as_json: bool) -> "structlog.typing.FilteringBoundLogger":
    """Return a logger that writes lines, or JSON for a script, to stderr."""
    render: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    made: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _visible,
            render,
        ],
    )
    return made


def _visible(
    log: object, name: str, said: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return {n: visible(v) if isinstance(v, str) else v for n, v in said.items()}


def hand_on(log: "structlog.typing.FilteringBoundLogger") -> None:
    """Forward the messages of libraries to `log`."""
    for name in ("uvicorn", "sse_starlette", "asyncio"):
        library = logging.getLogger(name)
        library.handlers, library.propagate = [LibraryLog(log)], False


class LibraryLog(logging.Handler):
    """Forwards library messages to sprintlog's log."""

    def __init__(self, log: "structlog.typing.FilteringBoundLogger") -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record as one line, without any data from the request."""
        if _CUT_SHORT in record.getMessage():
            return
        told = record.exc_info[1] if record.exc_info else None
        more = {} if told is None else {"error": f"{type(told).__name__}: {told}"}
        first = record.getMessage().partition("\n")[0]
        self._log.warning(first, source=record.name, **more)


class Logged:
    """Logs requests with their statuses, but never parameters or headers."""

    def __init__(self, app: ASGIApp, tell: Tell) -> None:
        self._app, self._tell = app, tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {"path": scope["path"], "status": message["status"]}
                self._tell(scope["method"], **said)
            await send(message)

        await self._app(scope, receive, told if scope["type"] == "http" else send)
