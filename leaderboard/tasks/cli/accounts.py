"""`leaderboard account`: accounts made and repaired from the command line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, closing, passwords, second_factors, teams, tokens
from leaderboard.accounts.ops.passwords import AccountPassword
from leaderboard.accounts.ops.tokens import PERSONAL
from leaderboard.accounts.page import tokens as token_pages
from leaderboard.core.actions import Action
from leaderboard.core.cli.actions import acting, command
from leaderboard.core.cli.site import data_option, opened, site_address
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.errors import Conflict
from leaderboard.settings import Settings
from leaderboard.tasks.ops import reset_links, roles


@click.group()
def account() -> None:
    """Create accounts and help people sign in."""


@account.command()
@click.argument("name")
@click.option("--organiser", is_flag=True, help="Allow the account to create collections and tasks.")
@click.option("--password", is_flag=True, help="Ask for a password instead of printing a one-time link.")
@data_option
def create(name: str, organiser: bool, password: bool, data: Path | None) -> None:
    """Create an account and print a one-time sign-in link for it."""
    hashed = _asked(name) if password else None
    with opened(data) as (database, settings):
        with database.write() as session:
            account_id = accounts.create(session, name, hashed, organiser)
            secret = None if password else accounts.sign_in_link(session, account_id)
            if organiser:
                roles.adopt(session, OPERATOR)
        click.echo(f"Account {name!r} created{' as an organiser' if organiser else ''}.")
        if secret:
            _show(settings, secret)


@account.command()
@click.argument("name")
@data_option
def link(name: str, data: Path | None) -> None:
    """Print a new one-time sign-in link for an account; earlier links stop working."""
    with opened(data) as (database, settings):
        with database.write() as session:
            secret = reset_links.make_link(session, OPERATOR, accounts.find(session, name))
        _show(settings, secret)


@account.command()
@click.argument("name")
@data_option
def password(name: str, data: Path | None) -> None:
    """Ask for an account's new password and sign it out everywhere."""
    hashed = _asked(name)
    with acting(data) as do, do.writing() as session:
        accounts.set_password(session, OPERATOR, name, hashed)
    click.echo(f"The password of {name} was changed.")


@account.command("remove-second-factor")
@click.argument("name")
@data_option
def remove_second_factor(name: str, data: Path | None) -> None:
    """Turn off a lost second factor of an account and sign it out everywhere."""
    with acting(data) as do, do.writing() as session:
        account_id = accounts.find(session, name)
        if not second_factors.is_on(session, account_id):
            raise Conflict(f"{name} has no second factor.")
        second_factors.remove(session, OPERATOR, account_id)
        accounts.sign_out_everywhere(session, account_id)
    click.echo(f"The second factor of {name} was removed. A password or a sign-in link is now enough.")


def _by_name(action: Action) -> Action:
    """The action, done to an account that is named instead of numbered."""

    def act(session: Session, viewer: Viewer, name: str, *asked: Any) -> Any:
        return action.act(session, viewer, accounts.find(session, name), *asked)

    return replace(action, form="<name>", act=act)


CLOSED = "The account of {name} is closed. `leaderboard account reopen` opens it again."
OPEN = "The account of {name} is open again."
account.add_command(command(_by_name(closing.CLOSE), say=lambda _, name: CLOSED.format(name=name)))
account.add_command(command(_by_name(closing.REOPEN), say=lambda _, name: OPEN.format(name=name)))


@account.command("sign-out")
@click.argument("name", required=False)
@click.option(
    "--everybody", is_flag=True, help="End the sessions of all accounts.  [this or NAME is required]"
)
@data_option
def sign_out(name: str | None, everybody: bool, data: Path | None) -> None:
    """Sign out an account, or everyone, everywhere."""
    if (name is None) is not everybody:
        raise click.UsageError("Give an account name or --everybody.")
    with acting(data) as do:
        if name is not None:
            do(_by_name(closing.SIGN_OUT), name=name)
        else:
            with do.writing() as session:
                count = closing.sign_out_everybody(session, OPERATOR)
    click.echo(f"{count} sessions ended." if name is None else f"{name} is signed out everywhere.")


@account.command("merge-teams")
@click.argument("team")
@click.argument("into")
@data_option
def merge_teams(team: str, into: str, data: Path | None) -> None:
    """Move members, runs and limits of TEAM to the team INTO; this cannot be undone."""
    with acting(data) as do, do.writing() as session:
        teams.merge(session, OPERATOR, team, into)
    click.echo(f"{team} is now merged into {into}.")


@account.group()
def token() -> None:
    """Create, list and revoke API tokens for an account."""


@token.command("secret")
def print_secret() -> None:
    """Print the secret for a future token, for LEADERBOARD_FIRST_TOKEN_FILE."""
    click.echo(tokens.made(PERSONAL))


@token.command("list")
@click.argument("name")
@data_option
def list_tokens(name: str, data: Path | None) -> None:
    """Print the tokens of an account: number, first characters, state, scopes, label."""
    with opened(data) as (database, _), database.read() as session:
        for row in token_pages.account_tokens(session, OPERATOR, accounts.find(session, name)).rows:
            token = row.token
            click.echo(f"{token.id}\t{token.prefix}\t{row.state}\t{','.join(token.scopes)}\t{token.label}")


MAKE, REVOKE = tokens.ACTIONS
_made = _by_name(replace(MAKE, act=tokens.make_for, site=None))
token.add_command(command(_made, say=lambda done, **_: str(done.result.secret)))
token.add_command(command(REVOKE, say=lambda _, token_id: f"Token {token_id} is revoked."))


def _asked(name: str) -> AccountPassword:
    return passwords.hashed(click.prompt("Password", hide_input=True, confirmation_prompt=True), name)


def _show(settings: Settings, secret: str) -> None:
    hours, link = accounts.LINK_HOURS, f"{site_address(settings)}/sign-in/{secret}"
    click.echo(f"Sign in once, within {hours} hours: {link}")
