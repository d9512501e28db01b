"""`export` to an address: what is new of a log since the last time, and taken.

It only reads the log, in a process of its own: who records never waits for a server.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote

from sprintlog.engine.adapters import delivery
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import Head
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.projections.exports import cloudevents, deliveries
from sprintlog.projections.exports.spans import spans_left_out
from sprintlog.projections.views.log import LogSent
from sprintlog.projections.workspace import Workspace

from ..output import counted, counting, print_answer, warn

SECRET, HEADERS = "SPRINTLOG_WEBHOOK_SECRET", "OTEL_EXPORTER_OTLP_HEADERS"
TRACES_PATH = "/v1/traces"
KEEP_SECONDS = 1.0
WEBHOOK, OTLP = "webhook", "otlp"


def send(
    workspace: Workspace,
    kind: str,
    url: str,
    environment: Mapping[str, str],
    *,
    name: str | None,
    with_content: bool,
    as_json: bool,
) -> None:
    """Send what is new to an address, keep how far it was taken, and say so."""
    headers, key = _given(kind, environment)
    is_traces = kind == OTLP
    asked = _traces_of(url) if is_traces else url
    target = delivery.Target(asked, pause=time.sleep, reads_answers=is_traces)
    stream = None if name is None else sprint_stream(name)
    sent = deliveries.sent_to(workspace.location.folder, kind, url, stream)
    progress, number, left_out = counting("messages sent"), 0, 0
    with workspace.log.locks.hold(sent.lock):
        place = sent.position(workspace.log)
        make = deliveries.spans_to_send if is_traces else deliveries.events_to_send
        found = make(workspace.log, place, stream=stream, with_content=with_content)
        with _keeping(sent) as keep:
            for one in found:
                if one.body:
                    more = {}
                    if key is not None:
                        at = workspace.clock() // 1000
                        more = delivery.signed(key, one.body, id_=one.id, at=at)
                    message = delivery.Message(one.body, {**headers, **more})
                    answer = target.deliver(message, what=one.what)
                    progress(number := number + 1)
                    if is_traces:
                        left_out += _left_out(answer)
                keep(one.head)
                place = one.head.position
    said = f"{target.name}: {counted(number, 'message')} taken, up to event {place}"
    print_answer(LogSent(target.name, number, place, left_out), [said], as_json=as_json)


@contextmanager
def _keeping(sent: deliveries.Sent) -> Iterator[Callable[[Head], None]]:
    """Give what notes how far all was taken: on the disk each second, and at the end.

    Whoever is killed in between sends that second's messages again.
    """
    last: Head | None = None
    due = time.monotonic() + KEEP_SECONDS

    def note(head: Head) -> None:
        nonlocal last, due
        last = head
        if time.monotonic() >= due:
            sent.keep(head)
            due = time.monotonic() + KEEP_SECONDS

    try:
        yield note
    finally:
        if last is not None:
            sent.keep(last)


def _left_out(answer: bytes) -> int:
    """Return how many spans an endpoint did not keep; say why."""
    count, why = spans_left_out(answer)
    if count or why:
        warn(f"{counted(count, 'span')} not kept there: {why[: delivery.SAID_CHARS_MAX]}")
    return count


def _given(
    kind: str, environment: Mapping[str, str]
) -> tuple[dict[str, str], bytes | None]:
    """Return the headers of each message, and the key by which webhooks are signed."""
    if kind == OTLP:
        more = _headers_in(environment.get(HEADERS, ""))
        return {"Content-Type": "application/json", **more}, None
    if not environment.get(SECRET):
        raise InvalidInputError(
            f"a webhook is signed: put its secret into {SECRET}",
            hint="`echo whsec_$(openssl rand -base64 24)` makes one",
        )
    return {"Content-Type": cloudevents.CONTENT_TYPE}, delivery.key_of(environment[SECRET])


def _headers_in(said: str) -> dict[str, str]:
    """Return headers as OpenTelemetry's variable has them: `name=value`, by commas."""
    found = {}
    for pair in filter(None, said.split(",")):
        name, equals, value = pair.partition("=")
        name, value = name.strip(), unquote(value.strip())
        is_name = name.isascii() and name.replace("-", "").isalnum()
        if not equals or not is_name or not value.isascii() or not value.isprintable():
            raise InvalidInputError(f"{HEADERS} is not name=value,name=value")
        found[name] = value
    return found


def _traces_of(url: str) -> str:
    """Return where an endpoint takes traces."""
    whole = url.rstrip("/")
    return whole if whole.endswith(TRACES_PATH) else whole + TRACES_PATH
