"""`leaderboard account`: accounts made and repaired from the command line."""

from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened
from leaderboard.services.accounts import accounts, passwords
from leaderboard.services.accounts.passwords import AccountPassword
from leaderboard.services.policy import OPERATOR
from leaderboard.settings import Settings


@click.group()
def account() -> None:
    """Make accounts, and help people into theirs."""


@account.command()
@click.argument("name")
@click.option("--organiser", is_flag=True, help="May create collections and tasks.")
@click.option("--password", is_flag=True, help="Ask for a password instead of printing a one-time link.")
@data_option
def create(name: str, organiser: bool, password: bool, data: Path | None) -> None:
    """Make an account and print a one-time sign-in link for it."""
    hashed = _asked(name) if password else None
    with opened(data) as (database, settings):
        with database.write() as session:
            account_id = accounts.create(session, name, hashed, organiser)
            token = None if password else accounts.sign_in_link(session, account_id)
        click.echo(f"Account {name!r} was made{' as an organiser' if organiser else ''}.")
        if token:
            _show(settings, token)


@account.command()
@click.argument("name")
@data_option
def link(name: str, data: Path | None) -> None:
    """Print a fresh one-time sign-in link for an account; links made before it end."""
    with opened(data) as (database, settings):
        with database.write() as session:
            token = accounts.sign_in_link(session, accounts.find(session, name))
        _show(settings, token)


@account.command()
@click.argument("name")
@data_option
def password(name: str, data: Path | None) -> None:
    """Ask for a new password of an account and sign it out everywhere."""
    hashed = _asked(name)
    with opened(data) as (database, _):
        with database.write() as session:
            accounts.set_password(session, OPERATOR, name, hashed)
        click.echo(f"The password of {name} was changed.")


def _asked(name: str) -> AccountPassword:
    return passwords.hashed(click.prompt("Password", hide_input=True, confirmation_prompt=True), name)


def _show(settings: Settings, token: str) -> None:
    base = settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    click.echo(f"Sign in once, within {accounts.LINK_HOURS} hours: {base}/sign-in/{token}")
