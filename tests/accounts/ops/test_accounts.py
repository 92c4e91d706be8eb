"""Accounts and sessions: who is let in, for how long, and what ends it."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from leaderboard.accounts.ops import accounts, sessions
from leaderboard.accounts.page import accounts as pages
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Audit, Token, WebSession
from leaderboard.errors import Conflict, Forbidden, NotFound, OverQuota
from tests.make.people import HASH, account, viewer

pytestmark = pytest.mark.dialect


def _start(database: Database, account_id: int, replaces: str = "") -> str:
    with database.write() as session:
        return sessions.start(session, account_id, "192.0.2.1", "Browser", replaces)


def _resume(database: Database, token: str) -> sessions.ResumedSession | None:
    with database.read() as session:
        return sessions.resume(session, token)


def _age(database: Database, **columns: timedelta) -> None:
    with database.write() as session:
        at = now(session)
        session.execute(update(WebSession).values({name: at - age for name, age in columns.items()}))


@pytest.mark.parametrize("other", ["anna", "ANNA", "  Anna  ", "Ａnna"])
def test_look_alike_names_are_taken(database: Database, other: str) -> None:
    """A name that differs in case, spacing or compatibility letters only is taken."""
    account(database, "Anna")
    with pytest.raises(Conflict, match="is taken"):
        account(database, other)


def test_a_new_account_is_on_record(database: Database) -> None:
    """Making an account writes an audit row in the same transaction."""
    made = account(database, "Anna")
    with database.read() as session:
        assert session.scalars(select(Audit.subject)).all() == [f"account:{made}"]


def test_a_session_resumes_its_viewer(database: Database) -> None:
    """A session's token gives back the account; only the token's digest is stored."""
    made = account(database, "Anna", is_organiser=True)
    token = _start(database, made)
    resumed = _resume(database, token)
    assert resumed is not None
    assert (resumed.viewer.account_id, resumed.viewer.name, resumed.viewer.is_organiser) == (
        made,
        "Anna",
        True,
    )
    assert not resumed.stamp_due
    with database.read() as session:
        assert session.scalars(select(WebSession.token_sha256)).all() == [sessions.digest(token)]


@pytest.mark.parametrize("token", ["", "nonsense", "\udcff"])
def test_an_unknown_token_resumes_nothing(database: Database, token: str) -> None:
    """A token nobody was given stands for nobody, whatever its characters."""
    assert _resume(database, token) is None


@pytest.mark.parametrize(
    "age", [{"seen_at": timedelta(days=7, minutes=1)}, {"created_at": timedelta(days=30, minutes=1)}]
)
def test_sessions_end_by_themselves(database: Database, age: dict[str, timedelta]) -> None:
    """A session ends after 7 days unused and after 30 days in all."""
    token = _start(database, account(database, "Anna"))
    _age(database, **age)
    assert _resume(database, token) is None


def test_the_last_seen_stamp_is_due_after_five_minutes(database: Database) -> None:
    """The stamp is due only when it is five minutes old, and writing it makes it fresh."""
    token = _start(database, account(database, "Anna"))
    _age(database, seen_at=timedelta(minutes=6))
    resumed = _resume(database, token)
    assert resumed is not None
    assert resumed.stamp_due
    with database.write() as session:
        sessions.stamp(session, resumed.session_id)
    again = _resume(database, token)
    assert again is not None
    assert not again.stamp_due


def test_signing_in_replaces_the_session_before(database: Database) -> None:
    """The token a browser had before signing in no longer works afterwards."""
    made = account(database, "Anna")
    before = _start(database, made)
    after = _start(database, made, replaces=before)
    assert _resume(database, before) is None
    assert _resume(database, after) is not None


def test_a_disabled_account_is_out_at_once(database: Database) -> None:
    """Disabling an account ends what its sessions may do."""
    made = account(database, "Anna")
    token = _start(database, made)
    with database.write() as session:
        session.execute(update(Account).values(disabled_at=now(session)))
    assert _resume(database, token) is None


def test_own_sessions_are_listed_and_ended(database: Database) -> None:
    """An account sees its sessions, the current one marked, and can end one of its own."""
    made = account(database, "Anna")
    first, current = _start(database, made), _start(database, made)
    asker = viewer(database, made)
    with database.read() as session:
        page = pages.account_page(session, asker, current)
    rows = page.browsers
    assert [row.id == page.current for row in rows] == [True, False]
    with database.write() as session:
        sessions.revoke(session, asker, rows[1].id)
    assert _resume(database, first) is None


def test_an_account_has_so_many_sessions_at_most(database: Database) -> None:
    """The oldest session ends when there would be more than twenty; another account's stay."""
    made, other = account(database, "Anna"), account(database, "Bert")
    others, tokens = _start(database, other), [_start(database, made) for _ in range(sessions.MOST + 1)]
    assert [_resume(database, token) is not None for token in (others, *tokens[:3])] == [
        True,
        False,
        True,
        True,
    ]


def test_another_accounts_session_cannot_be_ended(database: Database) -> None:
    """Ending a session of somebody else is as if there were none."""
    token = _start(database, account(database, "Anna"))
    resumed = _resume(database, token)
    assert resumed is not None
    other = viewer(database, account(database, "Bert"))
    with pytest.raises(NotFound), database.write() as session:
        sessions.revoke(session, other, resumed.session_id)
    assert _resume(database, token) is not None


def test_sign_ups_are_limited_per_network(database: Database) -> None:
    """The 21st account made from one address within an hour is refused."""
    visitor = Viewer(ip="192.0.2.1")
    for number in range(20):
        with database.write() as session:
            accounts.count_sign_up(session, visitor, f"name {number}")
    with pytest.raises(OverQuota), database.write() as session:
        accounts.count_sign_up(session, visitor, "one more")


def test_names_that_look_alike_are_one(database: Database) -> None:
    """A name in letters of another script is taken where it looks like one that is there."""
    account(database, "Anna")
    with pytest.raises(Conflict, match="looks like"):
        account(database, "\u0410nn\u0430")


def test_the_first_organiser_s_name_looks_like_nobody_s(database: Database) -> None:
    """Where somebody took a name that looks like the organiser's, the organiser has another one."""
    account(database, "\u043erganiser")
    with database.write() as session:
        assert accounts.first_organiser(session).name == "organiser 2"


def test_old_links_end(database: Database) -> None:
    """A link ends after its hours, and at once when a newer one is made."""
    made = account(database, "Anna")
    with database.write() as session:
        first = accounts.sign_in_link(session, made)
        second = accounts.sign_in_link(session, made, hours=1)
    with database.read() as session, pytest.raises(NotFound):
        accounts.link_owner(session, first)
    with database.write() as session:
        session.execute(update(Token).values(expires_at=now(session)))
    with database.read() as session, pytest.raises(NotFound):
        accounts.link_owner(session, second)


def test_the_first_organiser_is_made_once(database: Database) -> None:
    """Starting twice makes one organiser account and two links, of which the newer works."""
    with database.write() as session:
        first = accounts.first_organiser(session)
    with database.write() as session:
        second = accounts.first_organiser(session)
    assert first.name == second.name == "organiser"
    with database.read() as session:
        assert session.scalars(select(Account.is_organiser)).all() == [True]
        assert accounts.link_owner(session, second.token) == "organiser"
        with pytest.raises(NotFound):
            accounts.link_owner(session, first.token)


def test_no_link_is_made_at_a_start_once_an_organiser_has_a_password(database: Database) -> None:
    """The organiser with a password is named without a link, whoever of the organisers it is."""
    with database.write() as session:
        assert accounts.first_organiser(session).token
    account(database, "Olga", is_organiser=True)
    with database.write() as session:
        assert accounts.first_organiser(session) == accounts.FirstAccount("Olga", "")


def test_a_participant_named_organiser_gains_nothing(database: Database) -> None:
    """Where somebody took the name, the first organiser gets another one."""
    account(database, "Organiser")
    with database.write() as session:
        first = accounts.first_organiser(session)
        assert accounts.link_owner(session, first.token) == first.name == "organiser 2"


def test_changing_the_password_ends_all_sessions(database: Database) -> None:
    """Every session of the account ends and one new one begins; another account's stay."""
    made, other = account(database, "Anna"), account(database, "Bert")
    old, others = _start(database, made), _start(database, other)
    asker = viewer(database, made)
    with database.write() as session:
        checked = accounts.own_credentials(session, asker)
        new = accounts.change_password(session, asker, checked, HASH, "")
    assert [_resume(database, token) is not None for token in (old, new, others)] == [False, True, True]


def test_a_password_changed_meanwhile_is_not_overwritten(database: Database) -> None:
    """A change checked against an older password is refused."""
    asker = viewer(database, account(database, "Anna"))
    stale = accounts.AccountCredentials(asker.account_id, "an older hash")
    with pytest.raises(Conflict, match="in the meantime"), database.write() as session:
        accounts.change_password(session, asker, stale, HASH, "")


def test_only_the_operator_sets_others_passwords(database: Database) -> None:
    """Setting a password without the current one is for the command line only."""
    made = account(database, "Anna")
    token = _start(database, made)
    with database.write() as session:
        accounts.set_password(session, OPERATOR, "anna", HASH)
    assert _resume(database, token) is None
    with pytest.raises(Forbidden), database.write() as session:
        accounts.set_password(session, viewer(database, made), "anna", HASH)
