"""What commands on files share: options, those that are for one kind of file, and how files were read."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from leaderboard.errors import Problem

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file that must be there."""
LEVEL = click.option(
    "--level", "-l", default=1, show_default=True, help="Lowest relevant grade, for measures that take rel."
)
DIALECT = click.option(
    "--dialect", type=click.Choice(["9", "10"]), default="10", show_default=True, help="Of trec_eval."
)


def mapping_option(of: str, flag: str = "--map", *, has_topics: bool = False) -> Callable[[Any], Any]:
    """How judgments are read; has_topics: whether there is a task whose topic ids they may be given."""
    topics = ", or topics=task to write topic ids as the task's" if has_topics else ""
    said = "WORD=NUMBER for a grade, grade=NUMBER where there are none, columns=topic,iteration,docno,grade"
    said = f"How to read {of}: {said}{topics}; repeatable."
    return click.option(flag, "mapping", multiple=True, metavar="NAME=VALUE", help=said)


MAPPING = mapping_option("QRELS")


def pattern(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The value of an option that is a regular expression; raises BadParameter where it is none."""
    try:
        re.compile(value or "")
    except re.error as error:
        raise click.BadParameter(f"{value!r} is not a regular expression: {error}.") from error
    return value


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


def tell_notes(notes: Iterable[object]) -> None:
    """Say how files were read, on the error stream: beside the result, which programs read."""
    for note in notes:
        click.echo(f"note: {note}", err=True)
