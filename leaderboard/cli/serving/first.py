"""The first account of an empty site from the environment and files, for unattended starts."""

from pathlib import Path
from typing import TYPE_CHECKING

from leaderboard.errors import Invalid
from leaderboard.settings import Settings, secret_of

if TYPE_CHECKING:
    from leaderboard.db.engine import Database

ACCOUNT, PASSWORD_FILE, TOKEN_FILE = (
    f"LEADERBOARD_FIRST_{name}" for name in ("ACCOUNT", "PASSWORD_FILE", "TOKEN_FILE")
)


def require_whole(settings: Settings) -> None:
    """Raise Invalid where half of it is given: a name without a password, or what belongs to no name."""
    if settings.first_account and not settings.first_password_file:
        raise Invalid(f"{ACCOUNT} needs {PASSWORD_FILE}. Set it to a file with the password.")
    for name, given in (
        (PASSWORD_FILE, settings.first_password_file),
        (TOKEN_FILE, settings.first_token_file),
    ):
        if given and not settings.first_account:
            raise Invalid(f"{name} needs {ACCOUNT}. Set it to the account name.")


def set_up(database: "Database", settings: Settings) -> None:
    """Make the first account that is set, where the site has none; its files are not read otherwise.

    Raises Invalid for a file that cannot be read, a name, a password or a token that will not do: then
    nothing is made, and the next start tries again.
    """
    from leaderboard.accounts.ops import accounts, passwords

    if not settings.first_account:
        return
    with database.read() as session:
        if not accounts.is_empty(session):
            return
    password = secret_of(Path(settings.first_password_file), PASSWORD_FILE)
    token = secret_of(Path(settings.first_token_file), TOKEN_FILE) if settings.first_token_file else ""
    hashed = passwords.hashed(password, settings.first_account)
    with database.write() as session:
        accounts.set_up_first(session, settings.first_account, hashed, token)
