"""Signing in: what is counted, what a known device changes, and links and codes that work once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from leaderboard.accounts.ops import accounts, device_logins, sessions
from leaderboard.accounts.ops.accounts import AccountBrowser, AccountCredentials, NewSession
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Audit, Throttle, Token, WebSession
from leaderboard.errors import NotFound, OverQuota, SignInNeeded
from tests.make.people import account

pytestmark = pytest.mark.dialect
HOME = AccountBrowser("192.0.2.1")


def _attempt(database: Database, name: str, ip: str, device: str = "") -> AccountCredentials:
    with database.write() as session:
        return accounts.sign_in_attempt(session, name, AccountBrowser(ip, device=device))


def _signed_in(database: Database, account_id: int, name: str, browser: AccountBrowser = HOME) -> NewSession:
    with database.write() as session:
        made = accounts.sign_in_passed(session, account_id, name, browser)
    assert isinstance(made, NewSession)
    return made


def _actions(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.scalars(select(Audit.action).order_by(Audit.id)))


def test_the_eleventh_attempt_on_a_name_from_a_network_is_refused(database: Database) -> None:
    """Ten attempts in five minutes on one name; its spellings, and the addresses of a /64, count as one."""
    account(database, "Anna")
    for number in range(10):
        _attempt(database, "Anna" if number % 2 else " ANNA", f"2001:db8::{number:x}")
    with pytest.raises(OverQuota):
        _attempt(database, "anna", "2001:db8::ffff")
    _attempt(database, "Bert", "2001:db8::ffff")
    _attempt(database, "Anna", "192.0.2.1")


def test_a_network_may_not_try_many_names(database: Database) -> None:
    """Thirty attempts in five minutes from one address, whatever the names."""
    for number in range(30):
        _attempt(database, f"name {number}", "192.0.2.1")
    with pytest.raises(OverQuota):
        _attempt(database, "another", "192.0.2.1")


def test_wrong_passwords_from_elsewhere_lock_nobody_out_of_a_known_device(database: Database) -> None:
    """However often strangers try, from everywhere and from the same network, a known device may."""
    made = account(database, "Anna")
    device = _signed_in(database, made, "Anna").device
    for number in range(sessions.FREE_TRIES // 10 - 1):
        for _ in range(10):
            _attempt(database, "Anna", f"198.51.100.{number}")
    for _ in range(10):
        _attempt(database, "Bert", "192.0.2.1")
    _many_tries(database)
    with pytest.raises(OverQuota):
        _attempt(database, "Anna", "203.0.113.1")
    assert _attempt(database, "Anna", "192.0.2.1", device).account_id == made


def _many_tries(database: Database) -> None:
    """As if strangers had tried all day, a moment ago the last time."""
    with database.write() as session:
        counted = update(Throttle).where(Throttle.key == f"password name {sessions.digest('anna')}")
        session.execute(counted.values(count=200))
    _attempt(database, "Anna", "203.0.113.9")


def test_pauses_at_one_name_grow(database: Database) -> None:
    """After many tries from everywhere the next one has to wait, and the refusal says how long."""
    account(database, "Anna")
    _attempt(database, "Anna", "192.0.2.1")
    _many_tries(database)
    with pytest.raises(OverQuota) as refused:
        _attempt(database, "Anna", "192.0.2.2")
    assert 800 < int(str(refused.value.facts["retry_after_s"])) <= 900
    assert [sessions.pause_after(spent) for spent in (50, 51, 60, 10_000)] == [
        *(timedelta(seconds=seconds) for seconds in (1, 1, 4)),
        sessions.LONGEST_PAUSE,
    ]


def test_a_device_is_counted_too(database: Database) -> None:
    """The eleventh try of a known device is refused; a right password sets its count to nothing."""
    made = account(database, "Anna")
    device = _signed_in(database, made, "Anna").device
    for _ in range(10):
        _attempt(database, "Anna", "192.0.2.1", device)
    with pytest.raises(OverQuota):
        _attempt(database, "Anna", "192.0.2.1", device)
    _signed_in(database, made, "Anna", AccountBrowser("192.0.2.1", device=device))
    _attempt(database, "Anna", "192.0.2.1", device)


def test_a_device_is_one_accounts_only(database: Database) -> None:
    """For any other name the device is a stranger, and what is no device is one too."""
    device = _signed_in(database, account(database, "Anna"), "Anna").device
    account(database, "Bert")
    with database.read() as session:
        assert device_logins.known_device(session, " ANNA", device) == sessions.digest(device)
        assert [
            device_logins.known_device(session, "Bert", device),
            device_logins.known_device(session, "Anna", "x"),
        ] == ["", ""]


def test_devices_are_renewed_limited_and_forgotten(database: Database) -> None:
    """A known device keeps its token, of 21 devices the oldest is forgotten, and all when it is asked for."""
    made = account(database, "Anna")
    first = _signed_in(database, made, "Anna").device
    assert _signed_in(database, made, "Anna", AccountBrowser("", device=first)).device == first
    tokens = [first, *(_signed_in(database, made, "Anna").device for _ in range(device_logins.MOST_DEVICES))]
    with database.read() as session:
        known = [bool(device_logins.known_device(session, "Anna", token)) for token in tokens]
    assert known == [False] + [True] * device_logins.MOST_DEVICES
    with database.write() as session:
        accounts.sign_out_everywhere(session, made)
        assert not any(device_logins.known_device(session, "Anna", token) for token in tokens)


def test_successes_do_not_use_up_attempts(database: Database) -> None:
    """Signing in rightly again and again from one address is never refused."""
    made = account(database, "Anna")
    for _ in range(sessions.NETWORK_TRIES + 2):
        _attempt(database, "Anna", "192.0.2.1")
        _signed_in(database, made, "Anna")


def test_nobody_and_the_disabled_look_the_same(database: Database) -> None:
    """An unknown name and a disabled account give the same empty credentials."""
    account(database, "Anna")
    with database.write() as session:
        session.execute(update(Account).values(disabled_at=now(session)))
    nobody = AccountCredentials(None, None)
    assert _attempt(database, "Anna", "192.0.2.1") == _attempt(database, "Nobody", "192.0.2.2") == nobody


def test_sign_ins_are_on_record(database: Database) -> None:
    """A right password is recorded each time, wrong ones of one account and network once an hour."""
    made = account(database, "Anna")
    for ip in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        credentials = _attempt(database, "Anna", ip)
        with database.write() as session:
            accounts.sign_in_failed(session, credentials, ip)
    _signed_in(database, made, "Anna")
    assert _actions(database) == ["account.create", *["account.sign_in_failed"] * 2, "account.sign_in"]
    with database.read() as session:
        assert set(session.scalars(select(Audit.subject))) == {f"account:{made}"}


def test_a_name_nobody_has_is_not_recorded_as_typed(database: Database) -> None:
    """What was typed for a name may be a password: the record says only that it is unknown."""
    with database.write() as session:
        accounts.sign_in_failed(session, AccountCredentials(None, None), "192.0.2.1")
    with database.read() as session:
        assert session.execute(select(Audit.subject, Audit.detail)).all() == [
            ("account:unknown", {"way": "password"})
        ]


def test_a_sign_in_link_works_once(database: Database) -> None:
    """Looking at a link does not use it up; using it does, and only its digest is stored."""
    made = account(database, "Anna")
    with database.write() as session:
        token = accounts.sign_in_link(session, made)
    for _ in range(2):
        with database.read() as session:
            assert accounts.link_owner(session, token) == "Anna"
    with database.write() as session:
        used = accounts.use_link(session, token, HOME)
        assert isinstance(used, NewSession)
        resumed = sessions.resume(session, used.token)
    assert resumed is not None
    assert resumed.viewer.account_id == made
    with pytest.raises(NotFound, match="already been used"), database.write() as session:
        accounts.use_link(session, token, HOME)
    with database.read() as session:
        stored = session.scalars(select(Token.token_sha256).where(Token.kind == "sign_in")).all()
    assert stored == [sessions.digest(token)]


def test_of_many_at_once_one_uses_the_link(database: Database) -> None:
    """Eight uses of one link at the same moment make exactly one session."""
    made = account(database, "Anna")
    with database.write() as session:
        token = accounts.sign_in_link(session, made)

    def use(_: int) -> bool:
        try:
            with database.write() as session:
                accounts.use_link(session, token, HOME)
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(8))) == 1
    with database.read() as session:
        assert len(session.scalars(select(WebSession)).all()) == 1


@pytest.mark.parametrize("token", ["", "nonsense"])
def test_without_a_password_no_code_is_taken(database: Database, token: str) -> None:
    """A code is taken only after a password or a link."""
    with pytest.raises(SignInNeeded), database.write() as session:
        accounts.attempt_code(session, token, HOME)
