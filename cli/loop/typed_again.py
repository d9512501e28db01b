"""The options of a run that are typed again with it, since no rule says the same."""

import click
from click.core import ParameterSource

_NAMES = frozenset(
    {"timeout", "hook_command", "stops_on_request", "rest_seconds", "prompt_file"}
    | {"idle_timeout", "fallback"}
    | {"notify", "notify_of", "notify_wait", "no_wait", "actor", "no_mask"}
)
"""What is said of one run alone. How it judges is a rule; budgets are recorded as such."""


def typed_again(context: click.Context) -> tuple[str, ...]:
    """Return what was typed of these, as words of a command line."""
    words: list[str] = []
    for option in context.command.params:
        if option.name not in _NAMES or not isinstance(option, click.Option):
            continue
        if context.get_parameter_source(option.name) is not ParameterSource.COMMANDLINE:
            continue
        name, given = option.opts[-1], context.params[option.name]
        for one in given if option.multiple else (given,):
            words.extend((name,) if option.is_flag else (name, _text(one)))
    return (*words,)


def _text(value: object) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
