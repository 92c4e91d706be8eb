"""What a site needs before its processes start, for a process that ends before them.

The one that starts them waits beside them for months; it should not hold what only this needs, so nothing
large is imported above the functions.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from leaderboard.cli.serving import first
from leaderboard.cli.site import open_database
from leaderboard.settings import Settings

if TYPE_CHECKING:
    from leaderboard.db.engine import Database


@dataclass(frozen=True, slots=True)
class SignIn:
    """The token that signs the first organiser in once; empty where an organiser has a password."""

    name: str
    token: str
    hours: int
    """How long it works."""


def prepare_site(settings: Settings, with_demo: bool) -> SignIn:
    """Make the tables of an empty database, load the demo's tasks if asked to, let the organiser sign in.

    Raises SchemaOutdated for a database of another version, Invalid for settings of mail or of the first
    account that make no sense.
    """
    from leaderboard.services.accounts import accounts
    from leaderboard.services.mail import server_of
    from leaderboard.services.policy import OPERATOR
    from leaderboard.services.tasks import roles

    server_of(settings)
    database = open_database(settings)
    try:
        prepare(database)
        first.set_up(database, settings)
        if with_demo:
            _load_demo(database)
        with database.write() as session:
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
    from leaderboard.services.mail import server_of

    server_of(settings)
    database = open_database(settings)
    try:
        schema.require_head(database)
    finally:
        database.dispose()


def prepare(database: "Database") -> None:
    """Make the tables of an empty database; raises SchemaOutdated for one of another version."""
    from leaderboard.db import schema

    if schema.current(database) is None:
        schema.upgrade(database)
    schema.require_head(database)


def _load_demo(database: "Database") -> None:
    from leaderboard.services.demo import loading

    with click.progressbar(length=loading.STEPS, label="Loading the demo") as shown:
        loaded = loading.load(database, lambda: shown.update(1))
    click.echo(f"The demo's tasks: {loaded} loaded, {len(loading.TASKS) - loaded} there already.")
