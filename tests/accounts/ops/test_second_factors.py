"""Second factors: set up by a first code, each code used once, recovery codes for the loss."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from pyotp import TOTP
from sqlalchemy import select, update

from leaderboard.accounts.ops import accounts, second_factors, sessions
from leaderboard.accounts.ops.accounts import AccountBrowser, NewSession, PendingSession
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Audit, SecondFactor, Token
from leaderboard.errors import Conflict, Invalid, OverQuota, SignInNeeded
from tests.make.people import account, code_of, second_factor, viewer

pytestmark = pytest.mark.dialect
HOME = AccountBrowser("192.0.2.1", "Browser")


def _pending(database: Database, account_id: int) -> str:
    with database.write() as session:
        made = accounts.sign_in_passed(session, account_id, "Anna", HOME)
    assert isinstance(made, PendingSession)
    return made.token


def _use(database: Database, account_id: int, code: str) -> bool:
    try:
        with database.write() as session:
            second_factors.use(session, account_id, code)
    except Invalid:
        return False
    return True


def test_the_codes_are_those_of_the_standard() -> None:
    """The secret of RFC 6238, appendix B, gives the last six digits of its table."""
    totp = TOTP("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    assert [totp.at(second) for second in (59, 1111111109, 20000000000)] == ["287082", "081804", "353130"]


def test_it_counts_from_the_first_code_on(database: Database) -> None:
    """A secret alone asks for nothing; a wrong code does not turn it on, a right one does."""
    made = account(database, "Anna")
    asker = viewer(database, made)
    with database.write() as session:
        second_factors.begin(session, asker)
        assert not second_factors.is_on(session, made)
    with pytest.raises(Invalid), database.write() as session:
        second_factors.confirm(session, asker, "000000x")
    code = code_of(database, made)
    with database.write() as session:
        codes = second_factors.confirm(session, asker, code)
        assert second_factors.is_on(session, made)
    assert len(set(codes)) == second_factors.RECOVERY_CODES
    assert not _use(database, made, code)


def test_it_is_not_set_up_twice(database: Database) -> None:
    """Who has a second factor cannot begin or confirm another before turning it off."""
    made = account(database, "Anna")
    second_factor(database, made)
    asker = viewer(database, made)
    for act in (second_factors.begin, lambda *given: second_factors.confirm(*given, "1")):
        with pytest.raises(Conflict), database.write() as session:
            act(session, asker)


def test_a_code_is_used_once(database: Database) -> None:
    """The same code again, and the one before it, are refused; the next one is taken."""
    made = account(database, "Anna")
    second_factor(database, made)
    code = code_of(database, made)
    assert [_use(database, made, code), _use(database, made, code)] == [True, False]
    with database.read() as session:
        found = session.get_one(SecondFactor, made)
        later = TOTP(found.secret).generate_otp(found.last_step + 1)
        earlier = TOTP(found.secret).generate_otp(found.last_step - 1)
    assert [_use(database, made, earlier), _use(database, made, later)] == [False, True]


def test_of_many_at_once_one_uses_the_code(database: Database) -> None:
    """Eight uses of one code at the same moment: one is right."""
    made = account(database, "Anna")
    second_factor(database, made)
    code = code_of(database, made)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: _use(database, made, code), range(8))) == 1


def test_old_and_future_codes_are_refused(database: Database) -> None:
    """A code two steps away from now is wrong."""
    made = account(database, "Anna")
    second_factor(database, made)
    with database.read() as session:
        totp, at = TOTP(session.get_one(SecondFactor, made).secret), now(session)
    for minutes in (-5, 5):
        assert not _use(database, made, totp.at(at + timedelta(minutes=minutes)))


def test_recovery_codes_work_once_and_are_kept_as_digests(database: Database) -> None:
    """Each recovery code is taken once, written as it may be; another account's is not."""
    made, other = account(database, "Anna"), account(database, "Bert")
    first, second, *rest = second_factor(database, made)
    second_factor(database, other)
    # 112 random bits are asked for where a code is not hashed slowly.
    assert 5 * len(first.replace("-", "")) >= 112
    assert [_use(database, made, code) for code in (first.upper().replace("-", " "), first)] == [True, False]
    assert not _use(database, other, second)
    with database.read() as session:
        assert second_factors.recovery_codes_left(session, made) == len(rest) + 1
        stored = "".join(session.scalars(select(Token.token_sha256)))
    assert not any(code in stored for code in (second, second.replace("-", "")))


def test_new_recovery_codes_end_the_old_ones(database: Database) -> None:
    """Only the newest list works."""
    made = account(database, "Anna")
    old = second_factor(database, made)
    with database.write() as session:
        new = second_factors.renew_recovery_codes(session, viewer(database, made))
    assert [_use(database, made, old[0]), _use(database, made, new[0])] == [False, True]


def test_a_password_alone_does_not_sign_in(database: Database) -> None:
    """A right password gives a session only together with a code, and the code's token works once."""
    made = account(database, "Anna")
    second_factor(database, made)
    token = _pending(database, made)
    with database.read() as session:
        assert sessions.resume(session, token) is None
    with database.write() as session:
        new = accounts.use_code(session, token, code_of(database, made), HOME)
    with database.read() as session:
        resumed = sessions.resume(session, new.token)
    assert resumed is not None
    assert resumed.has_second_factor
    with pytest.raises(SignInNeeded), database.write() as session:
        accounts.attempt_code(session, token, HOME)


def test_what_waits_for_a_code_ends_by_itself(database: Database) -> None:
    """After ten minutes one begins again."""
    made = account(database, "Anna")
    second_factor(database, made)
    token = _pending(database, made)
    with database.write() as session:
        session.execute(update(Token).where(Token.kind == "pending").values(expires_at=now(session)))
    with pytest.raises(SignInNeeded, match="too long"), database.write() as session:
        accounts.attempt_code(session, token, HOME)


def test_guessing_codes_is_throttled(database: Database) -> None:
    """The eleventh code in five minutes is refused, also with a new password in between."""
    made = account(database, "Anna")
    second_factor(database, made)
    for _ in range(10):
        with database.write() as session:
            accounts.attempt_code(session, _pending_in(session, made), HOME)
    with pytest.raises(OverQuota), database.write() as session:
        accounts.attempt_code(session, _pending_in(session, made), HOME)


def _pending_in(session, account_id: int) -> str:  # type: ignore[no-untyped-def]
    made = accounts.sign_in_passed(session, account_id, "Anna", HOME)
    assert isinstance(made, PendingSession)
    return made.token


def test_removing_it_is_on_record_and_ends_its_codes(database: Database) -> None:
    """Afterwards a password is enough, no recovery code is left, and the record says who did it."""
    made = account(database, "Anna")
    second_factor(database, made)
    with database.write() as session:
        second_factors.remove(session, OPERATOR, made)
    with database.write() as session:
        assert isinstance(accounts.sign_in_passed(session, made, "Anna", HOME), NewSession)
        assert second_factors.recovery_codes_left(session, made) == 0
    with database.read() as session:
        actions = session.scalars(select(Audit.action).order_by(Audit.id)).all()
    assert actions[1:] == ["account.add_second_factor", "account.remove_second_factor", "account.sign_in"]
