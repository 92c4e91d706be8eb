"""Shared parts of file commands: options, kind-specific options, and notes on how files were read."""

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
    "--level",
    "-l",
    default=1,
    show_default=True,
    help="Lowest grade that counts as relevant, for measures with the parameter rel.",
)
DIALECT = click.option(
    "--dialect", type=click.Choice(["9", "10"]), default="10", show_default=True, help="trec_eval version."
)


def mapping_option(of: str, flag: str = "--map", *, has_topics: bool = False) -> Callable[[Any], Any]:
    """Options for reading judgments; has_topics: whether a task is given whose topic ids may be mapped."""
    topics = ", or topics=task to use the task's form of topic ids" if has_topics else ""
    text = "WORD=NUMBER for a grade, grade=NUMBER if missing, columns=topic,iteration,docno,grade"
    text = f"How to read {of}: {text}{topics}; repeatable."
    return click.option(flag, "mapping", multiple=True, metavar="NAME=VALUE", help=text)


MAPPING = mapping_option("QRELS")


def pattern(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The value of an option that is a regular expression; raises BadParameter for an unknown one."""
    try:
        re.compile(value or "")
    except re.error as error:
        raise click.BadParameter(f"{value!r} is not a regular expression: {error}.") from error
    return value


def require_options_of(context: click.Context, others: Iterable[str], kind: str) -> None:
    """Raise UsageError where one of the other kind's options was given: it would do nothing."""
    for name in others:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(param for param in context.command.params if param.name == name)
            rule = f"{option.opts[0]} has no effect with --kind {kind}. Leave it out."
            raise click.UsageError(rule, context)


def problem_line(kind: str, problem: Problem) -> str:
    """A problem or warning under the name of its file."""
    return f"  {kind}: {problem}"


def tell_notes(notes: Iterable[object]) -> None:
    """Print notes on how files were read to stderr, because programs read the result on stdout."""
    for note in notes:
        click.echo(f"note: {note}", err=True)
