"""What commands for two kinds of files share: options that are for one of them, lines of reports."""

from collections.abc import Iterable

import click
from click.core import ParameterSource

from leaderboard.errors import Problem


def require_options_of(context: click.Context, others: Iterable[str], kind: str) -> None:
    """Raise UsageError where one of the other kind's options was given: it would do nothing."""
    for name in others:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(one for one in context.command.params if one.name == name)
            rule = f"{option.opts[0]} does nothing with --kind {kind}; leave it out."
            raise click.UsageError(rule, context)


def problem_line(kind: str, problem: Problem) -> str:
    """A problem or warning under the name of its file."""
    return f"  {kind}: {problem}"
