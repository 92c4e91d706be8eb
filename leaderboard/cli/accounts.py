"""`leaderboard account`: accounts made from the command line."""

from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened
from leaderboard.services import accounts, passwords


@click.group()
def account() -> None:
    """Make accounts."""


@account.command()
@click.argument("name")
@click.option("--organiser", is_flag=True, help="May create collections and tasks.")
@click.option("--password", is_flag=True, help="Ask for a password instead of printing a one-time link.")
@data_option
def create(name: str, organiser: bool, password: bool, data: Path | None) -> None:
    """Make an account and print a one-time sign-in link for it."""
    hashed = None
    if password:
        hashed = passwords.hashed(click.prompt("Password", hide_input=True, confirmation_prompt=True), name)
    with opened(data) as (database, settings):
        with database.write() as session:
            account_id = accounts.create(session, name, hashed, organiser)
            token = None if password else accounts.sign_in_link(session, account_id)
        click.echo(f"Account {name!r} was made{' as an organiser' if organiser else ''}.")
        if token:
            base = settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}"
            click.echo(f"Sign in once, within {accounts.LINK_HOURS} hours: {base}/sign-in/{token}")
