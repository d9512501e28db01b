"""The prompts that `run` hands over: a file of the loop's own may be away for a moment."""

import time
from collections.abc import Callable

from ...errors import NotFoundError, RefusedError
from ...sprint.agent.actions import PERSON, STOP, Action
from ...sprint.state.sprint import Sprint
from ..prompts import with_prompt
from ..workspace import ServiceWorkspace

PATIENCE_SECONDS = 5.0
"""How long a file that is gone is waited for: some programs replace it in two steps."""
_AGAIN_SECONDS = 0.25


class Prompts:
    """Gives each action the prompt that its agent is handed."""

    def __init__(
        self,
        workspace: ServiceWorkspace,
        file: str | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._workspace = workspace
        self._file = file
        self._sleep = sleep

    def told(self, sprint: Sprint, action: Action) -> Action:
        """Return what is next with its prompt; a stop where its file cannot be read."""
        tries = round(PATIENCE_SECONDS / _AGAIN_SECONDS)
        while True:
            try:
                return with_prompt(self._workspace, sprint, action, file=self._file)
            except NotFoundError as error:
                if tries <= 0:
                    return self._stop(action, error)
            except RefusedError as error:
                return self._stop(action, error)
            tries -= 1
            self._sleep(_AGAIN_SECONDS)

    def _stop(self, action: Action, error: RefusedError) -> Action:
        return Action(
            STOP,
            because=PERSON,
            phase=action.phase,
            iteration=action.iteration,
            why=f"the prompt file: {error.message}",
            hint="put that right; the same command goes on from here",
        )
