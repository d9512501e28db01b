"""What an event type has to do."""

from collections.abc import Sequence
from typing import Any

import msgspec

from sprintlog.engine.extensions import Extension
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.event import check_tag
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.streams.extension_events import (
    checked_data,
    event_as_said,
    struct_problem,
)
from sprintlog.engine.sprint.commands import RecordExtensionEvent

from .ground import SPRINT, must, plain, refused, workspace


def check_event_type(
    tag: str,
    kind: type[msgspec.Struct],
    *,
    examples: Sequence[dict[str, Any]],
    refuses: Sequence[dict[str, Any]] = (),
) -> None:
    """Try an event type with examples of its data, and with data that it refuses.

    Raise `AssertionError` saying the rule that is broken.
    """
    must(bool(examples), "give an example of its data")
    check_tag(tag)
    must((problem := struct_problem(kind)) is None, f"{tag} {problem}")
    must(bool((kind.__doc__ or "").strip()), f"{tag}: its docstring says what happened")
    plain(msgspec.json.schema(kind), f"{tag} has a JSON Schema")
    extension = Extension("event", tag, f"{kind.__module__}:{kind.__name__}", "kit", "0")
    for data in examples:
        said = checked_data(extension, kind, data)
        must(checked_data(extension, kind, said) == said, f"{tag}: what is kept is taken")
        _recorded(tag, kind, said)
        with refused(f"{tag} refuses a field that it does not have"):
            checked_data(extension, kind, {**data, "no-such-field": 1})
    for data in refuses:
        with refused(f"{tag} has to refuse {data}"):
            checked_data(extension, kind, data)


def _recorded(tag: str, kind: type[msgspec.Struct], said: dict[str, Any]) -> None:
    shape = getattr(kind, "schema_version", 1)
    event = event_as_said(tag, said, shape=shape)
    with workspace() as made:
        before = made.sprint(SPRINT).document
        command = RecordExtensionEvent(event)
        (recorded,) = made.handle_with(SPRINT, command, masks=False).events
        must(recorded.type == tag, f"{tag} is recorded as what it is")
        must(recorded.payload == encode(event), f"{tag}: the payload is its data")
        must(CODEC.decode(recorded) == event, f"{tag} is read without its package")
        must(made.sprint(SPRINT).document == before, f"{tag} changes no plan")
        must(not event.remains().data, f"{tag}: erased, nothing of it is left")
