"""Accounts that visitors make for themselves, by the sign-up page or an invitation."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from leaderboard.services.accounts import accounts, passwords
from leaderboard.services.accounts.accounts import NewSession
from leaderboard.web.session import browser, viewer, writing


def make_account(
    name: str, password: str | None, admit: Callable[[Session, int], None] = lambda session, account_id: None
) -> NewSession:
    """The first session of a new account; `admit` lets it in somewhere in the same transaction.

    Without a password it is one that signs in by a provider.
    """
    asker, asking = viewer(), browser()
    if password is not None:
        passwords.require_strong(password, name)
    with writing() as session:
        accounts.count_sign_up(session, asker, name)
    secret = passwords.hashed(password, name) if password is not None else None
    with writing() as session:
        account_id = accounts.create(session, name, secret, viewer=asker)
        admit(session, account_id)
        return accounts.begin_session(session, account_id, "sign-up", asking)
