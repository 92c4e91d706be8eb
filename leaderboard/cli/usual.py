"""A group of commands of which one is meant where none is named."""

import click


class UsualCommand(click.Group):
    """The subcommands; without the name of one, the first that was added runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the usual subcommand first where none is given."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)
