"""Google's generateContent: Gemini CLI."""

from collections.abc import Iterator
from typing import Any

from .dialects import Asked, Turn, asked, frame, words
from .plays import Say
from .tokens import ANSWER
from .tools import Call

Json = dict[str, Any]


def read(body: Json, model: str) -> Asked:
    """Return the task in a request."""
    turns = [
        Turn(content.get("role") == "model", words(content.get("parts")))
        for content in body.get("contents", [])
    ]
    tools = [
        str(declared.get("name"))
        for tool in body.get("tools", [])
        for declared in tool.get("functionDeclarations", [])
    ]
    return asked("gemini", model, turns, tools=tools)


def said(text: list[str], wants: Asked, number: int) -> Iterator[bytes]:
    """Yield a text answer, one frame at a time."""
    for word in text[:-1]:
        yield frame(_answer([{"text": word}], wants, number))
    yield frame(_last([{"text": text[-1]}], wants, number))


def called(call: Call, wants: Asked, number: int) -> Iterator[bytes]:
    """Yield an answer that calls a tool."""
    called = {"name": call.tool, "args": call.given, "id": f"call_{number:06}"}
    yield frame(_last([{"functionCall": called}], wants, number))


def whole(act: Say, wants: Asked, number: int) -> Json:
    """Return a text answer as a single object."""
    return _last([{"text": act.text}], wants, number)


def refused(status: int) -> Json:
    """Return the body of a refusal."""
    words = {429: "RESOURCE_EXHAUSTED", 529: "UNAVAILABLE"}.get(status, "INVALID_ARGUMENT")
    message = f"Refused by the play ({status})"
    return {"error": {"code": status, "message": message, "status": words}}


def _answer(parts: list[Json], wants: Asked, number: int) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {
        "candidates": [candidate],
        "modelVersion": wants.model,
        "responseId": f"resp_{number:06}",
    }


def _last(parts: list[Json], wants: Asked, number: int) -> Json:
    answer = _answer(parts, wants, number)
    answer["candidates"][0]["finishReason"] = "STOP"
    given = ANSWER.anew + ANSWER.cached
    answer["usageMetadata"] = {
        "promptTokenCount": given,
        "cachedContentTokenCount": ANSWER.cached,
        "candidatesTokenCount": ANSWER.out - ANSWER.thoughts,
        "thoughtsTokenCount": ANSWER.thoughts,
        "totalTokenCount": given + ANSWER.out,
    }
    return answer
