"""What agent command lines print: what the agent's run cost."""

from ..agents.output import hear
from .report import Found, Report


def read(report: Report) -> Found:
    """Return the tokens, cost, turns and duration that an agent states."""
    try:
        report.content.decode()
    except UnicodeDecodeError as error:
        raise report.bad("is not UTF-8") from error
    usage = hear(report.content).usage
    if usage is None:
        raise report.bad("no result of an agent that states tokens, cost or turns")
    return Found(usage=usage)
