"""The process that a hook leaves behind to record a session's turns as iterations.

The hook does not wait for it, except for the answer to an agent that may have to continue.
"""

import gc
import os
from collections.abc import Callable
from contextlib import suppress

from sprintlog.engine.adapters.processes.descriptors import hold_only

ANSWER_SECONDS = 590.0
"""The time limit for an answer to the agent, whose own limit for the hook is 600 s."""


def settle_later(
    stream: str, tell: Callable[[str], None], *, reported: int | None, answers: bool
) -> bytes:
    """Settle a session in a detached process; return the answer to the agent, if any.

    `reported` is the version of the event that may have ended a turn.
    """
    reading, writing = os.pipe() if answers else (-1, -1)
    if (child := os.fork()) == 0:
        try:
            # The second fork ensures that the agent is not an ancestor of the process.
            if os.fork() == 0:
                os.setsid()
                hold_only(*([writing] if answers else []))
                gc.enable()
                _settle(stream, tell, writing, reported)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    if not answers:
        return b""
    # Imported here: few agents wait for an answer.
    from select import select

    os.close(writing)
    answer = b""
    while select([reading], (), (), ANSWER_SECONDS)[0] and (more := os.read(reading, 4096)):
        answer += more
    return answer


def _settle(
    stream: str, tell: Callable[[str], None], writing: int, reported: int | None
) -> None:
    try:
        # Imported here: the hook itself must not wait for these modules.
        from .turns import settle_turn

        ends = reported is not None
        answer = settle_turn(stream, ends=ends, reported=reported, tell=tell)
        if answer and writing > 0:
            os.write(writing, answer)
    except Exception as error:  # noqa: BLE001 (whatever happens, the agent must go on)
        with suppress(Exception):
            tell(f"a turn was not recorded: {type(error).__name__}: {error}")
