"""A group of commands with a usual one, and an option that is required unless another is given."""

from collections.abc import Mapping
from typing import Any

import click


class UsualCommand(click.Group):
    """The subcommands; without the name of one, the first that was added runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the usual subcommand first where none is given."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


class RequiredUnless(click.Option):
    """An option that is required unless another one is given; the help says so, as of any required one."""

    def __init__(self, *args: Any, unless: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.unless = unless
        self.help = f"{self.help}  [required unless {unless}]"

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """The value; raises MissingParameter where neither option is given."""
        alternative = next(param.name for param in ctx.command.params if self.unless in param.opts)
        if not opts.get(self.name or "") and alternative not in opts and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=self)
        return super().handle_parse_result(ctx, opts, args)


note_option = click.option(
    "--note", cls=RequiredUnless, unless="--preview", default="", help="Change note, shown with the revision."
)
