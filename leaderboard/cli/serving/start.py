"""Preparation of a site before its processes start, in a process that ends before them.

The one that starts them waits next to them for months; it should not hold what only this needs, so nothing
large is imported above the functions.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from leaderboard.cli.serving import first
from leaderboard.core.cli.site import open_database
from leaderboard.settings import Settings

if TYPE_CHECKING:
    from leaderboard.db.engine import Database


@dataclass(frozen=True, slots=True)
class SignIn:
    """The token that signs the first organiser in once; empty where an organiser has a password."""

    name: str
    token: str
    hours: int
    """Hours until it expires."""


def prepare_site(settings: Settings, with_demo: bool) -> SignIn:
    """Make the tables of an empty database, load the demo's tasks if asked to, let the organiser sign in.

    Raises SchemaOutdated for a database of another version, Invalid for settings of mail or of the first
    account that make no sense.
    """
    from leaderboard.accounts.ops import accounts
    from leaderboard.core.policy import OPERATOR
    from leaderboard.signatures import ops as signatures
    from leaderboard.tasks.ops import roles

    _require_mail_settings(settings)
    database = open_database(settings)
    try:
        prepare(database)
        first.set_up(database, settings)
        if with_demo:
            _load_demo(database)
        with database.write() as session:
            signatures.ensure_key(session)
            organiser = accounts.first_organiser(session)
            roles.adopt(session, OPERATOR)
    finally:
        database.dispose()
    return SignIn(organiser.name, organiser.token, accounts.LINK_HOURS)


def require_schema(settings: Settings) -> None:
    """Raise SchemaOutdated, naming the command to run, unless the database is at this program's schema.

    Raises Invalid for settings of mail that make no sense.
    """
    from leaderboard.db import schema

    _require_mail_settings(settings)
    database = open_database(settings)
    try:
        schema.require_head(database)
    finally:
        database.dispose()


def _require_mail_settings(settings: Settings) -> None:
    from leaderboard import features
    from leaderboard.core import events

    # This process may be one that was made for the purpose.
    features.register()
    for post in events.MAIL:
        post.server_of(settings)


def prepare(database: "Database") -> None:
    """Make the tables of an empty database; raises SchemaOutdated for one of another version."""
    from leaderboard.db import schema

    if schema.current(database) is None:
        schema.upgrade(database)
    schema.require_head(database)


def _load_demo(database: "Database") -> None:
    from leaderboard.site.ops.demo import loading

    with click.progressbar(length=loading.steps(), label="Loading the demo") as shown:
        loaded = loading.load(database, lambda: shown.update(1))
    click.echo(f"Demo tasks: {loaded} loaded, {len(loading.tasks()) - loaded} already loaded.")
