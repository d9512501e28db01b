"""Anthropic's Messages: Claude Code."""

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
    turns = [
        Turn(message.get("role") == "assistant", words(message.get("content")))
        for message in body.get("messages", [])
    ]
    tools = [str(tool.get("name")) for tool in body.get("tools", [])]
    return asked("anthropic", str(body.get("model")), turns, tools=tools)


def said(text: list[str], wants: Asked, number: int) -> Iterator[bytes]:
    """Yield a text answer, one frame at a time."""
    yield from _begin(wants, number, {"type": "text", "text": ""})
    for word in text:
        yield _delta({"type": "text_delta", "text": word})
    yield from _end("end_turn")


def called(call: Call, wants: Asked, number: int) -> Iterator[bytes]:
    """Yield an answer that calls a tool."""
    block = {"type": "tool_use", "id": f"toolu_{number:06}", "name": call.tool, "input": {}}
    yield from _begin(wants, number, block)
    yield _delta({"type": "input_json_delta", "partial_json": json.dumps(call.given)})
    yield from _end("tool_use")


def whole(act: Say, wants: Asked, number: int) -> Json:
    """Return a text answer as a single object."""
    message = _message(wants, number)
    message["content"] = [{"type": "text", "text": act.text}]
    message["stop_reason"] = "end_turn"
    message["usage"]["output_tokens"] = ANSWER.out
    return message


def refused(status: int) -> Json:
    """Return the body of a refusal."""
    kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(
        status, "invalid_request_error"
    )
    return {
        "type": "error",
        "error": {"type": kind, "message": f"Refused by the play ({status})"},
    }


def _message(wants: Asked, number: int) -> Json:
    usage = {
        "input_tokens": ANSWER.anew,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": ANSWER.cached,
        "output_tokens": 1,
    }
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": wants.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _begin(wants: Asked, number: int, block: Json) -> Iterator[bytes]:
    message = _message(wants, number)
    yield frame({"type": "message_start", "message": message}, "message_start")
    started = {"type": "content_block_start", "index": 0, "content_block": block}
    yield frame(started, "content_block_start")


def _delta(delta: Json) -> bytes:
    data = {"type": "content_block_delta", "index": 0, "delta": delta}
    return frame(data, "content_block_delta")


def _end(reason: str) -> Iterator[bytes]:
    yield frame({"type": "content_block_stop", "index": 0}, "content_block_stop")
    delta = {"stop_reason": reason, "stop_sequence": None}
    usage = {"output_tokens": ANSWER.out}
    yield frame({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    yield frame({"type": "message_stop"}, "message_stop")
