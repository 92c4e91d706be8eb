"""`leaderboard account`: accounts made and repaired from the command line."""

from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened, site_address
from leaderboard.errors import Conflict
from leaderboard.services.accounts import accounts, closing, passwords, reset_links, second_factors
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
            token = reset_links.make_link(session, OPERATOR, accounts.find(session, name))
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


@account.command("remove-second-factor")
@click.argument("name")
@data_option
def remove_second_factor(name: str, data: Path | None) -> None:
    """Turn off the second factor of somebody who lost it, and sign them out everywhere."""
    with opened(data) as (database, _):
        with database.write() as session:
            account_id = accounts.find(session, name)
            if not second_factors.is_on(session, account_id):
                raise Conflict(f"{name} has no second factor.")
            second_factors.remove(session, OPERATOR, account_id)
            accounts.sign_out_everywhere(session, account_id)
        click.echo(f"The second factor of {name} was removed; a password or a link is enough again.")


@account.command()
@click.argument("name")
@data_option
def close(name: str, data: Path | None) -> None:
    """Sign an account out everywhere and let nobody into it; its runs and teams stay."""
    with opened(data) as (database, _):
        with database.write() as session:
            closing.close(session, OPERATOR, accounts.find(session, name))
        click.echo(f"The account of {name} is closed. `leaderboard account reopen` opens it again.")


@account.command()
@click.argument("name")
@data_option
def reopen(name: str, data: Path | None) -> None:
    """Open a closed account again; its password signs in as before."""
    with opened(data) as (database, _):
        with database.write() as session:
            closing.reopen(session, OPERATOR, accounts.find(session, name))
        click.echo(f"The account of {name} is open again.")


@account.command("sign-out")
@click.argument("name", required=False)
@click.option("--everybody", is_flag=True, help="End the sessions of all accounts.")
@data_option
def sign_out(name: str | None, everybody: bool, data: Path | None) -> None:
    """End all sessions of an account, or of everybody."""
    if (name is None) is not everybody:
        raise click.UsageError("Name an account, or say --everybody.")
    with opened(data) as (database, _):
        with database.write() as session:
            if name is None:
                count = closing.sign_out_everybody(session, OPERATOR)
            else:
                closing.sign_out(session, OPERATOR, accounts.find(session, name))
        click.echo(f"{count} sessions ended." if name is None else f"{name} is signed out everywhere.")


def _asked(name: str) -> AccountPassword:
    return passwords.hashed(click.prompt("Password", hide_input=True, confirmation_prompt=True), name)


def _show(settings: Settings, token: str) -> None:
    hours, link = accounts.LINK_HOURS, f"{site_address(settings)}/sign-in/{token}"
    click.echo(f"Sign in once, within {hours} hours: {link}")
