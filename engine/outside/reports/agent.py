"""The result JSON of agent command lines: what the agent's run cost."""

from ...sprint.answers import usage_of
from .report import Found, Report


def read(report: Report) -> Found:
    """Return the tokens, cost, turns and duration that a result states."""
    try:
        usage = usage_of(report.content.decode())
    except UnicodeDecodeError as error:
        raise report.bad("is not UTF-8") from error
    if usage is None:
        raise report.bad("no result of an agent that states tokens, cost or turns")
    return Found(usage=usage)
