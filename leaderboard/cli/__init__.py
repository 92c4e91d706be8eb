"""The `leaderboard` command."""

import click

from leaderboard import __version__


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Run and use a leaderboard for information-retrieval shared tasks."""
