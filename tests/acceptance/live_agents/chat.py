"""OpenAI's chat completions: opencode and Copilot."""

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
        if message.get("role") in ("assistant", "user")
    ]
    tools = [str(tool.get("function", {}).get("name")) for tool in body.get("tools", [])]
    return asked("chat", str(body.get("model")), turns, tools=tools)


def said(text: list[str], wants: Asked, number: int) -> Iterator[bytes]:
    """Yield a text answer, one frame at a time."""
    for word in text:
        yield _chunk({"role": "assistant", "content": word}, wants, number)
    yield from _end("stop", wants, number)


def called(call: Call, wants: Asked, number: int) -> Iterator[bytes]:
    """Yield an answer that calls a tool."""
    function = {"name": call.tool, "arguments": json.dumps(call.given)}
    one = {"index": 0, "id": f"call_{number:06}", "type": "function", "function": function}
    yield _chunk({"role": "assistant", "tool_calls": [one]}, wants, number)
    yield from _end("tool_calls", wants, number)


def whole(act: Say, wants: Asked, number: int) -> Json:
    """Return a text answer as a single object."""
    message = {"role": "assistant", "content": act.text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    about = {**_about(wants, number), "object": "chat.completion"}
    return {**about, "choices": [choice], "usage": _usage()}


def refused(status: int) -> Json:
    """Return the body of a refusal."""
    kind = "rate_limit_exceeded" if status == 429 else "invalid_request_error"
    return {
        "error": {"type": kind, "code": kind, "message": f"Refused by the play ({status})"}
    }


def _about(wants: Asked, number: int) -> Json:
    name = f"chatcmpl-{number:06}"
    return {
        "id": name,
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": wants.model,
    }


def _chunk(delta: Json, wants: Asked, number: int) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return frame({**_about(wants, number), "choices": [choice]})


def _end(reason: str, wants: Asked, number: int) -> Iterator[bytes]:
    choice = {"index": 0, "delta": {}, "finish_reason": reason}
    yield frame({**_about(wants, number), "choices": [choice]})
    yield frame({**_about(wants, number), "choices": [], "usage": _usage()})
    yield frame("[DONE]")


def _usage() -> Json:
    given = ANSWER.anew + ANSWER.cached
    return {
        "prompt_tokens": given,
        "completion_tokens": ANSWER.out,
        "total_tokens": given + ANSWER.out,
        "prompt_tokens_details": {"cached_tokens": ANSWER.cached},
        "completion_tokens_details": {"reasoning_tokens": ANSWER.thoughts},
    }
