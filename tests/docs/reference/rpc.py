"""The page of what `sprintlog rpc` answers."""

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

What [`sprintlog rpc`](cli.md#sprintlog-rpc) answers ([how to drive sprintlog from a
program](../how-to/record-from-a-program.md#other-languages-json-rpc)). It speaks [JSON-RPC
2.0](https://www.jsonrpc.org/specification) on standard input and output: one object a
line, in UTF-8, params by name. Batches are refused, since requests need not wait for
one another's answers."""
ANSWER_OF = {
    "initialize": "Initialized",
    "record": "what the [recording commands](answers.md) answer",
    "append": "what the [recording commands](answers.md) answer",
    "ask": "what the [command](answers.md) answers with `--json`",
    "call": "CallEnded",
    "follow": "Following",
    "unfollow": "Unfollowed",
    "schema": "the JSON Schema, as `sprintlog schema` prints it",
    "cancel": "Cancelled",
}
"""What is answered: a struct, or in words."""
LISTENING = f"""\
## On a socket

`sprintlog rpc --listen` answers up to {listener.CLIENTS_MAX} clients at a time, all with
the same log. It prints the path of its socket, `rpc.sock` in the log's folder, as soon as
one can connect; the rest is as on pipes, but for `call`: a socket starts no process, so
that a program in a sandbox gets no way out by it. Only processes of the same user reach
it: the socket has the mode 0600, nobody else may write in the folder, and who connects is
asked for. A log has one such server; a second one is refused.

It acts in the folder in which it was started, with that environment, until nobody was
there for {command.IDLE_SECONDS:g} seconds (`--idle`), a signal ends it, or its socket is
removed. Nothing depends on it: who finds none starts one, or `sprintlog rpc`, and what
stands there after a `kill -9` is cleared away by the next one. A path that is too long to
connect to is short from within the folder: `rpc.sock`.

What several clients record at the same time is committed at once: the disk is waited for
a single time, and each is answered after that. What has effects of its own is committed
alone: the end of an iteration, a sprint that is made or goes on, a restore. Clients have
their turns; one that does not read its answers gets nothing more done, and holds up
nobody."""
NOTIFICATIONS = """\
## What is told without being asked

| notification | params | when |
|---|---|---|
| `event` | `subscription`, `event`: as `sprintlog log --json` has it | an event is there |
| `ended` | `subscription`, `error` | the log cannot be followed any more |
| `progress` | `id`, `text` | a process that a `call` runs says something to people |"""
ORDER = f"""\
## Order, and what is under way

`initialize`, `record`, `append`, `ask`, `schema`, `follow` and `unfollow` are done one
after another, in the order in which they come, by one log that stays open. State files
say what was recorded before it is answered. A `call` is done beside them by a process
of its own, at most {session.CALLS_MAX} at a time. So wait for its answer before you ask
about what it does.

At most {PENDING_MAX:,} requests are taken in before they are done, and nothing
is kept in memory for a client that does not read. So read while you write. A line has
at most {frames.FRAME_BYTES_MAX:,} bytes, an answer of a `call`
{calls.ANSWER_BYTES_MAX:,}, an answer of `ask` {EVENTS_MAX:,} events. There are
{session.SUBSCRIPTIONS_MAX} subscriptions at most.

`cancel` keeps a request from being begun. A process that works on a `call` is ended by
SIGTERM, with all that it started: a loop records that it was interrupted. What has not
ended after {calls.STOPPING_SECONDS:g} seconds is killed. What it had recorded stays.
What is being recorded is recorded, and its answer says so. The answer to a cancelled
request is an error with the code {frames.CANCELLED}.

When its input ends, all that was asked is done and answered; then the server ends with
0. When nobody reads its answers any more, or a signal ends it, it begins nothing more.
When it is killed, its processes are ended as by `cancel`. Give a `key` with what you
record: repeated to the next server, it answers with what was recorded, or records it
now."""
ERRORS = f"""\
## Errors

| code | when |
|--:|---|
| {frames.PARSE_ERROR} | the line is no JSON, is nested too deep, or has a key twice |
| {frames.INVALID_REQUEST} | it is no request, too long, a batch, or its id is under way |
| {frames.UNKNOWN_METHOD} | there is no such method |
| {frames.INVALID_PARAMS} | params are missing, unknown or of another type |
| {frames.INTERNAL_ERROR} | a defect of sprintlog |
| {frames.CANCELLED} | it was cancelled |
| {frames.OF_EXIT_CODE} - n | the command would end with the [exit code](exit-codes.md) n: \
{frames.OF_EXIT_CODE - 1} is refused, {frames.OF_EXIT_CODE - 3} not found, \
{frames.OF_EXIT_CODE - 5} a conflict |

`data` has the [fields of `--json`](exit-codes.md#with---json): `error`, `message`,
`hint` and what is known. Nothing was recorded then."""
PROMISE = f"""\
## What stays as it is

The protocol has the number {params.PROTOCOL}, and `initialize` refuses any other. Within it

- methods, params, fields of answers and codes keep their names, types and meaning;
- new methods, optional params, fields, notifications, commands, questions and event
  types may come. So ignore fields and notifications that you do not know;
- what was accepted stays accepted, but for a defect that is told in the CHANGELOG.

Whatever breaks that raises the number, and the server speaks the number before it for one
minor version more. Commands, events and answers follow
[what is promised](../explanation/durability.md) for them."""


def rpc_page(note: str) -> str:
    """Return the page: each method with its params, then what all have in common."""
    parts = [HEAD.format(note=note)]
    for name, method in METHODS.items():
        answer = ANSWER_OF[name]
        parts += [f"## `{name}`", method.says, _fields(method.takes)]
        struct = getattr(params, answer, None)
        if struct is None:
            parts.append(f"It answers {answer}.")
        else:
            parts += ["It answers:", _fields(struct)]
    parts += [LISTENING, NOTIFICATIONS, ORDER, ERRORS, _questions(), _commands(), PROMISE]
    return "\n\n".join(part for part in parts if part) + "\n"


def _questions() -> str:
    rows = ["| question | given |", "|---|---|"]
    for name, route in QUESTIONS.items():
        takes = ", ".join(f"`{one}`" for one in route.takes)
        rows.append(f"| `{name}` | {takes} |")
    others = [f"- `{name}`" for name in sorted({*ANSWERS} - {*QUESTIONS})]
    more = "\n".join(["By `call` besides:", "", *others])
    return "\n\n".join(["## Questions of `ask`", "\n".join(rows), more])


def _commands() -> str:
    listed = "\n".join(f"- `{name}`" for name in registered())
    said = (
        "Their fields are those of `sprintlog schema commands`, or of the method `schema`."
    )
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
    """Return what is said below each field of a struct, and of what it stands on."""
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
