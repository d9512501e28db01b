"""Access control for the live page: hosts, tokens, foreign sites, forms and headers.

A request is processed only after it has passed these checks. A refusal states the reason in
one line and never repeats the request's data. The token is stored in the log's folder:
whoever can read that folder can read the log. The token survives a restart, so open pages
continue to work.
"""

import hmac
import os
import re
import secrets
import stat
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sprintlog.errors import InvalidInputError
from sprintlog.pages import LivePages

NAME = "serve.token"
_BYTES_MAX = 100
_FORM = re.compile(r"[A-Za-z0-9_-]{43}\n?")
_NEW = "run `sprintlog serve --new-token` to create a new token"


def kept_token(folder: Path, *, is_new: bool = False) -> str:
    """Return a log's token, which is created if necessary.

    If the folder is not writable, the token is valid only for this process. Raise
    `InvalidInputError` if other users may read the token's file, or if it contains no
    token.
    """
    path = folder / NAME
    if is_new:
        path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(32)
    try:
        made = os.open(
            path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except FileExistsError:
        return _read(path)
    except OSError:
        return token
    with open(made, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    return token


def _read(path: Path) -> str:
    try:
        held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from error
    with open(held, "rb") as file:
        found = os.fstat(held)
        if not stat.S_ISREG(found.st_mode):
            raise _wrong(path, "is not a regular file")
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            mode = stat.S_IMODE(found.st_mode)
            raise _wrong(path, f"other users can read it (mode {mode:o})")
        text = file.read(_BYTES_MAX).decode("ascii", "replace")
    if _FORM.fullmatch(text) is None:
        raise _wrong(path, "contains no token")
    return text.rstrip("\n")


def _wrong(path: Path, problem: str) -> InvalidInputError:
    return InvalidInputError(problem, file=str(path), hint=_NEW)


def is_same(given: str, token: str) -> bool:
    """Compare text with the token in constant time."""
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def form_token(token: str) -> str:
    """Return a token for the page's forms that other sites cannot guess."""
    return hmac.digest(token.encode(), b"form", "sha256").hex()


def policy(style: str = "", script: str = "") -> str:
    """Return the content security policy of an answer; inline styles and code are optional.

    Only content from this server is run, displayed or requested.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {script}".rstrip(),
            f"style-src 'self' {style}".rstrip(),
            "img-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    )


HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": policy(),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Without a referrer, browsers do not send the origin of a form.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
OPEN = "/healthz"
"""The only path that requires no token; it reveals nothing about the log."""
_PARAMETER = "token"
_READING = ("GET", "HEAD")


class Access:
    """The server's access settings."""

    def __init__(self, token: str, *, port: int, names: tuple[str, ...] = ()) -> None:
        self.token = token
        self.cookie = f"sprintlog-{port}"
        """Browsers share a host's cookies between ports, so the name includes the port."""
        self.names = {"localhost", *(name.lower() for name in names)}

    def knows_host(self, host: str) -> bool:
        """Return whether the `Host` header of a request names this server.

        In a DNS rebinding attack, the header contains the attacker's host name. An IP
        address cannot be rebound.
        """
        name = _name_of(host)
        return name is not None and (name in self.names or _is_address(name))


class Guard:
    """Rejects requests that are not allowed, and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, *, access: Access, writes: bool) -> None:
        self._app, self._access, self._writes = app, access, writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(scope)
        await (refused or self._app)(scope, receive, send_safe)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        if not self._access.knows_host(headers.get("host", "")):
            return _refuse(421, "no host of this server: `sprintlog serve --name NAME`")
        if scope["path"] == OPEN and method in _READING:
            return None
        if method not in (*_READING, "POST"):
            return _refuse(405, "this server answers GET, HEAD and POST")
        is_let_in = self._is_let_in(headers)
        if method in _READING and (entered := self._entered(scope)) is not None:
            return entered
        if not is_let_in:
            return _not_let_in()
        return self._refusal_to_write(headers) if method == "POST" else None

    def _is_let_in(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return is_same(given.strip(), self._access.token)
        cookies = cookie_parser(headers.get("cookie", ""))
        return is_same(cookies.get(self._access.cookie, ""), self._access.token)

    def _entered(self, scope: Scope) -> Response | None:
        """Return an answer that sets the cookie if the address contains the token.

        The answer is a page that continues to the same address without the token. After a
        link from another site, a browser would not send the new cookie with a redirect.
        """
        if _PARAMETER.encode() not in scope["query_string"]:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == _PARAMETER]
        if not given:
            return None
        if not is_same(given[-1], self._access.token):
            return _not_let_in()
        rest = urlencode([pair for pair in query if pair[0] != _PARAMETER])
        # Two leading slashes would refer to another server.
        page = LivePages.entered("/" + scope["path"].lstrip("/"), rest)
        response = HTMLResponse(page, headers={"Referrer-Policy": "no-referrer"})
        response.set_cookie(
            self._access.cookie, self._access.token, httponly=True, samesite="strict"
        )
        return response

    def _refusal_to_write(self, headers: Headers) -> Response | None:
        if not self._writes:
            return _refuse(403, "only for reading: `sprintlog serve --write` records")
        origin, host = headers.get("origin"), headers.get("host", "")
        by_token = headers.get("authorization") is not None
        if origin is None and not by_token:
            return _refuse(403, "it does not say from which page it comes (Origin)")
        is_foreign = origin is not None and origin.partition("://")[2] != host
        if is_foreign or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refuse(403, "it comes from a page of another site")
        return None


def _name_of(host: str) -> str | None:
    """Return the name in a `Host` header without its port, or None if it is invalid."""
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":")
        return name if bracket and (not port or port.isdigit()) else None
    name, _, port = host.partition(":")
    return name.lower() if name and (not port or port.isdigit()) else None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refuse(status: int, why: str) -> Response:
    return PlainTextResponse(f"refused: {why}\n", status)


def _not_let_in() -> Response:
    said = "refused: open the address with the token that `sprintlog serve` printed\n"
    return PlainTextResponse(said, 401, {"WWW-Authenticate": "Bearer"})


def is_form_of(request: Request) -> bool:
    """Return whether a request's content is a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/x-www-form-urlencoded"
