"""The page of the protocol of `sprintlog rpc`."""

import ast
import inspect

import msgspec

from sprintlog.cli.agents import rpc as command
from sprintlog.cli.agents import subprocess_commands as calls
from sprintlog.cli.rpc import frames, listener, params, session
from sprintlog.cli.rpc.methods import METHODS
from sprintlog.cli.rpc.worker import PENDING_MAX
from sprintlog.engine.commands import registered
from sprintlog.projections.questions import EVENTS_MAX, QUESTIONS
from sprintlog.projections.views.answers import ANSWERS

HEAD = """\
# JSON-RPC

{note}

This page specifies the protocol of [`sprintlog rpc`](cli.md#sprintlog-rpc) ([how to use
it](../how-to/record-from-a-program.md#other-languages-json-rpc)): [JSON-RPC
2.0](https://www.jsonrpc.org/specification) on standard input and output, one object on a
line, in UTF-8, with params by name. Batches are refused; requests need not wait for
earlier answers."""
ANSWER_OF = {
    "initialize": "Initialized",
    "record": "the answer of a [recording command](answers.md)",
    "append": "the answer of a [recording command](answers.md)",
    "ask": "the [JSON answer](answers.md) of the command",
    "call": "CallEnded",
    "follow": "Following",
    "unfollow": "Unfollowed",
    "schema": "the JSON Schema printed by `sprintlog schema`",
    "cancel": "Cancelled",
}
"""The answer of each method: a struct, or a description."""
LISTENING = f"""\
## On a socket

`sprintlog rpc --listen` serves up to {listener.CLIENTS_MAX} clients of one log. It prints
the path of its socket, `rpc.sock` in the log's folder, when it is ready. The protocol is
the same except for `call`, which is refused so that a sandboxed program cannot start
processes. Only processes of the same user can connect: the socket has mode 0600, nobody
else may write in the folder, and the peer is checked. A log has one such server; a second
one is refused.

The server uses its initial folder and environment, until it has no client for
{command.IDLE_SECONDS:g} seconds (`--idle`), a signal ends it, or its socket is removed.
The next server removes the remains of a killed one. If the path is too long for a socket
address, connect from within the folder to `rpc.sock`.

Concurrent records are committed together, with one wait for the disk, and answered after
that. Commands with side effects are committed alone: the end of an iteration, the
creation or resumption of a sprint, a restore. Clients take turns; one that does not read
its answers is suspended without blocking others."""
NOTIFICATIONS = """\
## Notifications

| notification | params | sent when |
|---|---|---|
| `event` | `subscription`, `event` as in `sprintlog log --json` | an event was recorded |
| `ended` | `subscription`, `error` | the log cannot be followed any more |
| `progress` | `id`, `text` | the process of a `call` prints a message |"""
ORDER = f"""\
## Order and cancellation

`initialize`, `record`, `append`, `ask`, `schema`, `follow` and `unfollow` run one after
another, in the order of arrival, on one open log. State files are written before the
answer. A `call` runs in a separate process, at most {session.CALLS_MAX} at a time: wait
for its answer before you ask about its result.

At most {PENDING_MAX:,} requests are queued, and nothing is buffered for a client that
does not read, so read while you write. A line has at most {frames.FRAME_BYTES_MAX:,}
bytes, an answer of a `call` {calls.ANSWER_BYTES_MAX:,}, an answer of `ask` {EVENTS_MAX:,}
events. There are at most {session.SUBSCRIPTIONS_MAX} subscriptions.

`cancel` removes a queued request. The process of a `call` and its children receive
SIGTERM, so a loop records the interruption, and are killed after
{calls.STOPPING_SECONDS:g} seconds; recorded events stay. A record in progress is
completed and answered normally. The answer to a cancelled request is an error with the
code {frames.CANCELLED}.

At the end of its input, the server completes all requests and exits with 0. If nobody
reads its answers any more, or a signal ends it, it begins nothing more. If it is killed,
its processes are ended as by `cancel`. Add a `key` to records: the next server then
returns the recorded result, or records it."""
ERRORS = f"""\
## Errors

| code | condition |
|--:|---|
| {frames.PARSE_ERROR} | the line is not JSON, is nested too deep, or has a duplicate key |
| {frames.INVALID_REQUEST} | not a request, too long, a batch, or its id is in use |
| {frames.UNKNOWN_METHOD} | unknown method |
| {frames.INVALID_PARAMS} | missing, unknown or wrongly typed params |
| {frames.INTERNAL_ERROR} | a defect of sprintlog |
| {frames.CANCELLED} | it was cancelled |
| {frames.OF_EXIT_CODE} - n | the [exit code](exit-codes.md) of the command would be n: \
{frames.OF_EXIT_CODE - 1} is refused, {frames.OF_EXIT_CODE - 3} not found, \
{frames.OF_EXIT_CODE - 5} a conflict |

Nothing was recorded. `data` has the [fields of the JSON error](exit-codes.md#with---json):
`error`, `message`, `hint` and others."""
PROMISE = f"""\
## Compatibility

The protocol has the number {params.PROTOCOL}; `initialize` refuses any other. Within a
protocol

- methods, params, fields of answers and codes keep their names, types and meaning;
- methods, optional params, fields, notifications, commands, questions and event types may
  be added, so ignore unknown fields and notifications;
- accepted input stays accepted, except for defects listed in the CHANGELOG.

Any other change increments the number, and the server supports the previous number for
one minor version. Commands, events and answers have their own
[guarantees](../explanation/durability.md)."""


def rpc_page(note: str) -> str:
    """Return the page: each method with its params, then the common parts."""
    parts = [HEAD.format(note=note)]
    for name, method in METHODS.items():
        answer = ANSWER_OF[name]
        parts += [f"## `{name}`", method.says, _fields(method.takes)]
        struct = getattr(params, answer, None)
        if struct is None:
            parts.append(f"Returns {answer}.")
        else:
            parts += ["Returns:", _fields(struct)]
    parts += [LISTENING, NOTIFICATIONS, ORDER, ERRORS, _questions(), _commands(), PROMISE]
    return "\n\n".join(part for part in parts if part) + "\n"


def _questions() -> str:
    rows = ["| question | given |", "|---|---|"]
    for name, route in QUESTIONS.items():
        takes = ", ".join(f"`{one}`" for one in route.takes)
        rows.append(f"| `{name}` | {takes} |")
    others = [f"- `{name}`" for name in sorted({*ANSWERS} - {*QUESTIONS})]
    more = "\n".join(["Only by `call`:", "", *others])
    return "\n\n".join(["## Questions of `ask`", "\n".join(rows), more])


def _commands() -> str:
    listed = "\n".join(f"- `{name}`" for name in registered())
    said = "`sprintlog schema commands` and the method `schema` return their fields."
    return f"## Commands of `record`\n\n{listed}\n\n{said}"


def _fields(struct: type[msgspec.Struct]) -> str:
    docs = _docs(struct)
    if not msgspec.structs.fields(struct):
        return ""
    rows = ["| field | type | meaning |", "|---|---|---|"]
    schema = msgspec.json.schema(struct)["$defs"][struct.__name__]
    for field in msgspec.structs.fields(struct):
        needed = "" if field.required else "?"
        kind = _kind(schema["properties"][field.encode_name])
        rows.append(f"| `{field.encode_name}`{needed} | {kind} | {docs[field.name]} |")
    return "\n".join(rows)


def _kind(schema: dict[str, object] | bool) -> str:
    if not isinstance(schema, dict):
        return "any"
    if isinstance(options := schema.get("anyOf"), list):
        return " or ".join(_kind(one) for one in options if one != {"type": "null"})
    if isinstance(words := schema.get("enum"), list):
        return ", ".join(f"`{word}`" for word in words)
    if schema.get("type") == "array" and isinstance(items := schema.get("items"), dict):
        return f"list of {_kind(items)}"
    if "$ref" in schema:
        return "object"
    return {"string": "text"}.get(str(schema.get("type")), str(schema.get("type", "any")))


def _docs(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the docstrings of the fields of a struct and its bases."""
    found: dict[str, str] = {}
    for kind in struct.__mro__[:-2]:
        if kind.__module__ != params.__name__:
            continue
        (node,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(node, ast.ClassDef)
        for one, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                said = getattr(getattr(after, "value", None), "value", "")
                found.setdefault(one.target.id, str(said))
    return found
