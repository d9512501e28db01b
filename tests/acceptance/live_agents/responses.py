"""OpenAI's Responses: Codex."""

import json
from collections.abc import Iterator
from typing import Any

from .dialects import Asked, Turn, asked, frame, words
from .plays import Say
from .tokens import ANSWER
from .tools import Call

Json = dict[str, Any]


def read(body: Json) -> Asked:
    """Return the task in a request."""
    turns = []
    for item in body.get("input", []):
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "message":
            # Text before a call belongs to the same answer; our answers have either.
            turns.append(Turn(role == "assistant", words(item.get("content"))))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            turns.append(Turn(True, ""))
    tools = [tool for tool in body.get("tools", []) if tool.get("name")]
    return asked(
        "responses",
        str(body.get("model")),
        turns,
        tools=[tool["name"] for tool in tools],
        freeform=[tool["name"] for tool in tools if tool.get("type") == "custom"],
    )


def said(text: list[str], wants: Asked, number: int) -> Iterator[bytes]:
    """Yield a text answer, one frame at a time."""
    item = {
        "type": "message",
        "role": "assistant",
        "id": f"msg_{number:06}",
        "status": "completed",
        "content": [{"type": "output_text", "text": "".join(text), "annotations": []}],
    }
    yield _created(number)
    begun = {**item, "content": [], "status": "in_progress"}
    yield _event("response.output_item.added", output_index=0, item=begun)
    for word in text:
        yield _event(
            "response.output_text.delta",
            item_id=item["id"],
            output_index=0,
            content_index=0,
            delta=word,
        )
    yield from _end(item, number)


def called(call: Call, wants: Asked, number: int) -> Iterator[bytes]:
    """Yield an answer that calls a tool."""
    item = {"id": f"fc_{number:06}", "call_id": f"call_{number:06}", "name": call.tool}
    if call.tool in wants.freeform:
        item |= {"type": "custom_tool_call", "input": call.given["input"]}
    else:
        item |= {"type": "function_call", "arguments": json.dumps(call.given)}
    yield _created(number)
    yield from _end(item, number)


def whole(act: Say, wants: Asked, number: int) -> Json:
    """Return a text answer as a single object."""
    content = [{"type": "output_text", "text": act.text, "annotations": []}]
    item = {"type": "message", "role": "assistant", "content": content}
    return {**_response(number), "status": "completed", "output": [item], "usage": _usage()}


def refused(status: int) -> Json:
    """Return the body of a refusal."""
    kind = "rate_limit_exceeded" if status == 429 else "invalid_request_error"
    return {
        "error": {"type": kind, "code": kind, "message": f"Refused by the play ({status})"}
    }


def _response(number: int) -> Json:
    return {"id": f"resp_{number:06}", "object": "response"}


def _created(number: int) -> bytes:
    return _event("response.created", response={**_response(number), "output": []})


def _end(item: Json, number: int) -> Iterator[bytes]:
    yield _event("response.output_item.done", output_index=0, item=item)
    response = {**_response(number), "status": "completed", "usage": _usage()}
    yield _event("response.completed", response={**response, "output": [item]})


def _usage() -> Json:
    given = ANSWER.anew + ANSWER.cached
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": ANSWER.cached},
        "output_tokens": ANSWER.out,
        "output_tokens_details": {"reasoning_tokens": ANSWER.thoughts},
        "total_tokens": given + ANSWER.out,
    }


def _event(kind: str, **data: Any) -> bytes:
    return frame({"type": kind, **data}, kind)
