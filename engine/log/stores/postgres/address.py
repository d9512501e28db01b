"""Parses a PostgreSQL log's address, and removes its secrets for display."""

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import msgspec

from sprintlog.errors import InvalidInputError

SCHEME = "postgresql"
_SECRETS = ("password", "passfile", "sslpassword")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
_DEFAULTS = {
    "application_name": "sprintlog",
    "client_encoding": "utf8",
    # A vanished server is detected after seconds, not after a quarter of an hour.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


class Address(msgspec.Struct, frozen=True):
    """The location of a log: the connection parameters for libpq and the log's name."""

    given: str
    """The address for libpq, which may contain secrets and must never be printed."""
    shown: str
    """The address without secrets, for messages and files."""
    log: str
    is_unsafe: bool = False
    """Whether to accept a server that may lose acknowledged events."""
    has_secret: bool = False


def parse(url: str) -> Address:
    """Return the parsed address; raise `InvalidInputError` if it is invalid."""
    try:
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)
        user, password = parts.username, parts.password
    except ValueError as error:
        raise _wrong("must be postgresql://host/database?log=NAME") from error
    if parts.scheme not in (SCHEME, "postgres"):
        raise _wrong("the address of a log on a server must start with postgresql://")
    own = {name: value for name, value in pairs if name in ("log", "unsafe")}
    log, unsafe = own.get("log", ""), own.get("unsafe", "no")
    if not _NAME.fullmatch(log):
        raise _wrong(
            "?log=NAME is required; NAME accepts only letters, digits, `.`, `_` and `-`"
        )
    if unsafe not in ("yes", "no"):
        raise _wrong("unsafe must be yes or no")
    pairs = [pair for pair in pairs if pair[0] not in own]
    known = {name for name, _ in pairs}
    more = [(name, value) for name, value in _DEFAULTS.items() if name not in known]
    host = parts.netloc.rpartition("@")[2]
    named = f"{quote(unquote(user))}@{host}" if user else host
    plain = [pair for pair in pairs if pair[0] not in _SECRETS[:1] + _SECRETS[2:]]
    plain += [("log", log), *([("unsafe", unsafe)] if unsafe == "yes" else [])]
    return Address(
        _put(parts.netloc, parts.path, [*pairs, *more]),
        _put(named, parts.path, plain),
        log,
        unsafe == "yes",
        password is not None or len(pairs) != len(plain) - len(own),
    )


def check_is_plain(url: str, *, file: str | None = None, field: str | None = None) -> None:
    """Raise `InvalidInputError` for an address with a secret, which must not be stored."""
    if parse(url).has_secret:
        raise InvalidInputError(
            "a stored address must not contain a password",
            file=file,
            field=field,
            hint="put the password in PGPASSFILE, ~/.pgpass, a service file "
            "(`?service=NAME`), or in PGPASSWORD or SPRINTLOG_LOG in the environment",
        )


def _put(netloc: str, path: str, pairs: list[tuple[str, str]]) -> str:
    query = urlencode(pairs, quote_via=quote, safe="/")
    return urlunsplit((SCHEME, netloc, path or "/", query, ""))


def _wrong(problem: str) -> InvalidInputError:
    return InvalidInputError(problem, field="log")
