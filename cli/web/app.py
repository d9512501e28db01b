"""The web application: its routes and their answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from time import time_ns
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

import sprintlog.errors as errors
from sprintlog.pages import LivePages
from sprintlog.questions import answer, number
from sprintlog.servers import error_answer, exit_code, json_line

from . import actions, followed_log
from .actions import WebHost
from .followed_log import EventLine, FollowedLog, LogNews, OpenWorkspace, Tail
from .guard import Access, Guard, form_token, is_form_of, is_same, policy

STREAMS_MAX = 256
"""The maximum number of pages with an open event stream."""
SEND_SECONDS_MAX = 10
"""The time limit for sending a few events; slower clients are disconnected and reconnect.
"""
PING_SECONDS = 15
FORM_BYTES_MAX = 64 * 1024
FORM_SECONDS_MAX = 10
"""The time limit for receiving a form."""
PARAMETERS_MAX = 20
METRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
STATIC = {
    "live.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "web.css": "text/css; charset=utf-8",
}
"""The files that are served, with their types; file paths are never built from URLs."""
NOT_FOUND, INTEGRITY, CONFLICT = 3, 4, 5
"""The exit statuses of a command."""


Tell = Callable[[str], None]


STATUSES = {NOT_FOUND: 404, CONFLICT: 409, INTEGRITY: 500}
"""HTTP statuses by exit status; a refusal has status 422."""


class ServerSettings(NamedTuple):
    """The configuration of a server."""

    access: Access
    host: WebHost
    writes: bool = False
    actor: str = "operator:web"


class Server:
    """Shared state of all requests: the logs, and the newest changes of all of them."""

    def __init__(
        self, logs: Mapping[str, OpenWorkspace], settings: ServerSettings, tell: Tell
    ) -> None:
        """Serve the logs that `logs` opens, by name."""
        self.settings, self.tell = settings, tell
        self.form_token = form_token(settings.access.token)
        token = self.form_token if settings.writes else None
        self.logs = {
            name: FollowedLog(name, x, LivePages(actions.ACTIONS, token))
            for name, x in logs.items()
        }
        # After a restart, the positions of older pages are outside the range.
        self.news = Tail(time_ns() // 1_000_000)
        self.listening = 0
        self._writing = asyncio.Lock()
        # Read once, because an upgrade may replace the files while the server is running.
        folder = files(__package__).joinpath("static")
        own = {x: folder.joinpath(x).read_bytes() for x in ("live.js", "web.css")}
        self.files = {**own, "page.css": LivePages.style().encode()}

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """Follow the logs while the server is running."""
        logs = self.logs.values()
        await asyncio.gather(*(log.start(self.tell, self._hear) for log in logs))
        try:
            yield
        finally:
            self.close()
            await asyncio.gather(*(asyncio.to_thread(log.end) for log in logs))

    def close(self) -> None:
        """End all event streams."""
        for tail in (self.news, *(log.tail for log in self.logs.values())):
            tail.close()

    def _hear(self, name: str, lines: list[EventLine]) -> None:
        changes = enumerate(lines or [None], self.news.position + 1)
        self.news.take([LogNews(n, name, line) for n, line in changes])

    def _one(self, request: Request) -> FollowedLog | None:
        """Return the log that an address names; None if it is an address of all logs."""
        if (name := request.path_params.get("log")) is None:
            return None if len(self.logs) > 1 else next(iter(self.logs.values()))
        if name not in self.logs:
            raise errors.NotFoundError(f"there is no log {name[:60]!r} on this server")
        return self.logs[name]

    def _log(self, request: Request) -> FollowedLog:
        if (one := self._one(request)) is None:
            known = ", ".join(f"/log/{name}/" for name in self.logs)
            raise errors.NotFoundError(f"the address of a log begins with {known}")
        return one

    # --- Reading ----------------------------------------------------------------
    async def overview(self, request: Request) -> Response:
        """Return the overview of all sprints in the logs; `q` searches their texts."""
        query = _parameters(request, "q").get("q", "")
        if (one := self._one(request)) is not None:
            position, parts = one.tail.position, [await one.part(query, "")]
        else:
            position, logs = self.news.position, self.logs.items()
            parts = await asyncio.gather(*(log.part(query, name) for name, log in logs))
        return HTMLResponse(LivePages.overview(parts, query, position))

    async def sprint(self, request: Request) -> Response:
        """Return the page of a sprint."""
        given, log = _parameters(request, "id"), self._log(request)
        made = await log.ask(lambda w: log.pages.page(w, given.get("id")))
        own = {"Content-Security-Policy": policy(*log.pages.policy())}
        return HTMLResponse(made, headers=own)

    async def iteration(self, request: Request) -> Response:
        """Return the view of an iteration, for the page of its sprint."""
        given, log = _parameters(request, "id", "n"), self._log(request)
        n, read = number(given.get("n", ""), field="n"), log.pages.iteration
        return HTMLResponse(await log.ask(lambda w: read(w, given.get("id"), n)))

    async def compare(self, request: Request) -> Response:
        """Return the page that compares two sprints."""
        given, log = _parameters(request, "id", "with"), self._log(request)
        return HTMLResponse(await log.ask(lambda w: log.pages.comparison(w, given)))

    async def results(self, request: Request) -> Response:
        """Return the page that compares agents, models, prompts or a parameter, `by`."""
        by, one = _parameters(request, "by").get("by", "model"), self._one(request)
        logs = [one] if one else [*self.logs.values()]
        return HTMLResponse(await asyncio.to_thread(followed_log.results_of, logs, by))

    async def api(self, request: Request) -> Response:
        """Return a command's `--json` answer."""
        command = request.path_params["command"].replace("/", " ")
        given, log = _parameters(request), self._log(request)
        return await log.ask(lambda w: _json(answer(w, command, given)))

    async def metrics(self, request: Request) -> Response:
        """Return the figures of all sprints in the OpenMetrics format."""
        said = await self._log(request).ask(self.settings.host.metrics)
        return Response(said, headers={"Content-Type": METRICS_TYPE})

    async def health(self, request: Request) -> Response:
        """Return a response that states whether any log can be read."""
        if all(log.tail.problem is not None for log in self.logs.values()):
            return PlainTextResponse("the log cannot be read\n", 503)
        return PlainTextResponse("ok\n")

    async def static(self, request: Request) -> Response:
        """Return a static file of the server."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise errors.NotFoundError(f"there is no file {name[:60]!r}")
        return Response(self.files[name], headers={"Content-Type": STATIC[name]})

    # --- Events -----------------------------------------------------------------
    async def events(self, request: Request) -> Response:
        """Return a stream of all events after a position, including future events."""
        log = self._one(request)
        tail = log.tail if log else self.news
        asked = _parameters(request, "after").get("after", str(tail.position))
        # A page that reconnects states the last event it received.
        after = number(request.headers.get("last-event-id", asked), field="after")
        if self.listening >= STREAMS_MAX:
            return PlainTextResponse(
                "refused: too many pages are open\n", 503, {"Retry-After": "5"}
            )
        return _Stream(self, self.said(log, after))

    async def said(
        self, log: FollowedLog | None, after: int
    ) -> AsyncIterator[ServerSentEvent]:
        """Yield the messages of a stream after a position while the stream is open."""
        try:
            tail = log.tail if log else self.news
            head = tail.position
            if log and after > head:
                head = await log.ask(lambda w: w.log.head().position)
            if not tail.first <= after <= head:
                # The log was replaced by another one.
                yield ServerSentEvent(event="reset", data="{}", id=str(head))
                after = head
            yield ServerSentEvent(comment="here", retry=1000)
            async for line in tail.after(after):
                said = msgspec.json.encode(line).decode()
                yield ServerSentEvent(said, id=str(line.position))
        except followed_log.FellBehindError:
            self.tell("disconnected a page that was too slow")

    # --- Writing ----------------------------------------------------------------
    async def act(self, request: Request) -> Response:
        """Return a preview of an action or, once confirmed, the result of recording it."""
        command = _parameters(request, "do").get("do", "")
        given = await self._form(request)
        sprint_id, version = given.pop("sprint", ""), given.pop("version", None)
        request.state.sprint = sprint_id
        settings, log = self.settings, self._log(request)
        wanted = actions.wanted(
            settings.host, command, sprint_id, given, actor=settings.actor
        )
        if version is None:
            return HTMLResponse(log.pages.confirmation(wanted, await log.ask(wanted.show)))
        expected = number(version, field="version")
        async with self._writing:
            await asyncio.to_thread(_record, log, wanted, expected)
        self.tell(f"recorded: {command}")
        return RedirectResponse(f"sprint?{urlencode({'id': sprint_id})}", 303)

    async def _form(self, request: Request) -> dict[str, str]:
        if not is_form_of(request):
            raise HTTPException(415, "give a form")
        try:
            async with asyncio.timeout(FORM_SECONDS_MAX):
                body = await _body(request)
        except TimeoutError as late:
            raise HTTPException(408, "the form came too slowly") from late
        try:
            text = body.decode("ascii")
            pairs = parse_qsl(
                text, errors="strict", max_num_fields=PARAMETERS_MAX, separator="&"
            )
        except ValueError as error:
            raise errors.InvalidInputError("is not a valid form", field="body") from error
        given = dict(pairs)
        if not is_same(given.pop("form", ""), self.form_token):
            raise HTTPException(403, "the form is not from this server")
        return given


def _record(log: FollowedLog, wanted: actions.WantedAction, version: int) -> None:
    # Use a separate connection: waiting for the lock must not delay readers.
    with log.opens() as workspace:
        wanted.record(workspace, version)


class _Stream(EventSourceResponse):
    """A page's event stream, counted as open from the start to the end of the answer."""

    def __init__(self, server: Server, said: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(said, ping=PING_SECONDS, send_timeout=SEND_SECONDS_MAX)
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events while the page is open."""
        self._server.listening += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._server.listening -= 1


async def _body(request: Request) -> bytes:
    """Return the body of a request, up to the maximum size of a form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES_MAX:
            raise HTTPException(413, f"a form has at most {FORM_BYTES_MAX} bytes")
    return body


def routes_of(server: Server) -> list[Route]:
    """Return the routes of the application."""
    return [
        Route("/", server.overview),
        Route("/sprint", server.sprint),
        Route("/iteration", server.iteration),
        Route("/compare", server.compare),
        Route("/results", server.results),
        Route("/events", server.events),
        Route("/metrics", server.metrics),
        Route("/healthz", server.health),
        Route("/api/{command:path}", server.api),
        Route("/static/{name}", server.static),
        Route("/act", server.act, methods=["POST"]),
    ]


def make_app(server: Server) -> Guard:
    """Return the application, wrapped in its guard."""
    handlers: Mapping[Any, Callable[..., Any]] = {
        errors.SprintlogError: _failed,
        HTTPException: _http_failed,
    }
    routes = routes_of(server)
    app = Starlette(
        routes=[*routes, Mount("/log/{log}", routes=routes)],
        exception_handlers=handlers,
        lifespan=server.running,
    )
    return Guard(app, access=server.settings.access, writes=server.settings.writes)


def _parameters(request: Request, *takes: str) -> dict[str, str]:
    """Return the parameters of a request; raise `InvalidInputError` for invalid parameters.

    If no names are given, the question itself validates the parameters.
    """
    pairs = request.query_params.multi_items()
    given = dict(pairs)
    if len(given) != len(pairs) or len(pairs) > PARAMETERS_MAX:
        raise errors.InvalidInputError("pass each parameter only once", field="query")
    for name in given:
        if takes and name not in takes:
            said = f"is unknown; allowed: {', '.join(takes)}"
            raise errors.InvalidInputError(said, field=name[:40])
    return given


def _json(answer: Any, status: int = 200) -> Response:
    return Response(json_line(answer)[:-1], status, {"Content-Type": "application/json"})


async def _failed(request: Request, error: errors.SprintlogError) -> Response:
    is_invalid = isinstance(error, errors.InvalidInputError)
    status = 400 if is_invalid else STATUSES.get(exit_code(error), 422)
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    if path.startswith("/api/"):
        return _json(error_answer(error), status)
    if path in ("/events", "/metrics"):
        return PlainTextResponse(f"error: {error.message}\n", status)
    sprint_id = getattr(request.state, "sprint", None) or request.query_params.get("id")
    return HTMLResponse(LivePages.refused(error, sprint_id), status)


async def _http_failed(request: Request, error: HTTPException) -> Response:
    return PlainTextResponse(f"refused: {error.detail}\n", error.status_code)
