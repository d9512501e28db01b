"""A sprint that has started, and an agent that calls the tools, directly or by the SDK."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sprintlog.cli.agents.mcp import served
from sprintlog.cli.mcp.caller import ServedLog
from sprintlog.cli.mcp.pages import ANSWER_BYTES_MAX
from sprintlog.cli.mcp.tools import call
from tests import needs

from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import gated as gated
from ..cli.conftest import made as made
from ..cli.conftest import made_once as made_once
from ..cli.conftest import run as run
from ..cli.conftest import sprint as sprint


@pytest.fixture(scope="session", autouse=True)
def sdk() -> Any:
    """Skip this folder if the SDK is not installed; in CI, this is an error."""
    return needs.package("mcp", "mcp>=2.3")


class Agent(NamedTuple):
    """An agent that calls tools; every answer it gets is short enough."""

    log: ServedLog = served("mcp-session")
    name: str = "claude-code"

    def call(self, tool: str, **given: Any) -> tuple[str, bool]:
        """Return the text of an answer, and whether it is an error."""
        named = {name.rstrip("_"): value for name, value in given.items()}
        answer = call(tool, named, self.log.caller(self.name))
        assert len(answer.text.encode()) <= ANSWER_BYTES_MAX
        return answer.text, answer.is_error

    def ask(self, tool: str, **given: Any) -> Any:
        """Return an answer that is not an error."""
        text, is_error = self.call(tool, **given)
        assert not is_error, text
        return json.loads(text)

    def refused(self, tool: str, **given: Any) -> str:
        """Return the text of a refusal."""
        text, is_error = self.call(tool, **given)
        assert is_error, text
        return text


@pytest.fixture
def agent() -> Agent:
    """Return an agent."""
    return Agent()


Events = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def events(done: Any) -> Events:
    """Return a function that lists the events of the sprint."""
    return lambda: [*done("log", "--json").lines]
