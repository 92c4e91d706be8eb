"""Logins of devices: a short code answered in a browser, a token fetched once, and no guessing."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from leaderboard.accounts.ops import closing, device_logins, tokens
from leaderboard.accounts.ops.device_logins import DeviceAnswer, DeviceCodes, LoginState
from leaderboard.accounts.ops.tokens import TokenRequest
from leaderboard.core.policy import OPERATOR, Scope
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import ApiToken, Audit, DeviceRequest
from leaderboard.errors import Conflict, Invalid, NotFound, OverQuota, SecondFactorNeeded
from tests.make import people

BOTH = (Scope.READ, Scope.SUBMIT)


def _begin(database: Database, scopes: Any = BOTH, ip: str = "203.0.113.9") -> DeviceCodes:
    with database.write() as session:
        return device_logins.begin(session, "gpu  box", scopes, ip)


def _poll(database: Database, codes: DeviceCodes) -> DeviceAnswer:
    with database.write() as session:
        session.execute(update(DeviceRequest).values(polled_at=None))
        return device_logins.poll(session, codes.device_code)


def _approve(
    database: Database, account_id: int, code: str, scopes: Any = BOTH, *, factor: bool = False
) -> None:
    asker = people.viewer(database, account_id)
    with database.write() as session:
        wanted = TokenRequest(label="gpu box", scopes=scopes)
        device_logins.approve(session, asker, code, wanted, factor_needed=factor)


@pytest.mark.dialect
def test_a_device_gets_a_token_once_its_owner_approved(database: Database) -> None:
    """It waits, is shown with what it asks for, is approved with less, and of two questions one gets it."""
    owner = people.account(database, "Ada")
    codes = _begin(database)
    assert _poll(database, codes) == DeviceAnswer(LoginState.WAITING)
    asker = people.viewer(database, owner)
    typed = codes.user_code.lower().replace("-", " ")
    with database.read() as session:
        shown = device_logins.waiting(session, asker, typed)
        assert codes.device_code not in str([vars(row) for row in session.scalars(select(DeviceRequest))])
    assert (shown.label, tuple(shown.scopes), shown.ip) == ("gpu box", BOTH, "203.0.113.9")
    _approve(database, owner, typed, ("submit",))

    def ask(_: int) -> DeviceAnswer:
        with database.write() as session:
            return device_logins.poll(session, codes.device_code)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask, range(2)))
    assert sorted(answer.state for answer in answers) == [LoginState.DONE, LoginState.EXPIRED]
    made = next(answer.token for answer in answers if answer.token is not None)
    with database.read() as session:
        asking = tokens.token_viewer(session, made.secret, factor_needed=False)
        acts = set(session.scalars(select(Audit.action)))
    assert asking is not None
    assert (asking.viewer.account_id, asking.scopes) == (owner, {Scope.SUBMIT})
    assert {"device.approve", "token.make"} <= acts
    with pytest.raises(NotFound):
        _approve(database, owner, typed)


def test_denied_expired_and_hurried(database: Database) -> None:
    """Each has its name in RFC 8628; after an answer the short code is no code any longer."""
    owner = people.account(database, "Ada")
    asker = people.viewer(database, owner)
    denied, late, quick = _begin(database), _begin(database), _begin(database)
    with database.write() as session:
        device_logins.deny(session, asker, denied.user_code)
        assert device_logins.poll(session, denied.device_code).state == LoginState.DENIED
        assert device_logins.poll(session, quick.device_code).state == LoginState.WAITING
        assert device_logins.poll(session, quick.device_code).state == LoginState.SLOW_DOWN
        assert device_logins.poll(session, "unknown").state == LoginState.EXPIRED
        session.execute(update(DeviceRequest).values(expires_at=now(session) - timedelta(seconds=1)))
        assert device_logins.poll(session, late.device_code).state == LoginState.EXPIRED
    for codes in (denied, late):
        with pytest.raises(NotFound):
            _approve(database, owner, codes.user_code)


def test_approval_gives_no_more_than_was_asked_for(database: Database) -> None:
    """Neither a scope that the device did not ask for, nor one that needs a second factor, without one."""
    owner = people.account(database, "Ada", is_organiser=True)
    codes = _begin(database)
    with pytest.raises(Conflict):
        _approve(database, owner, codes.user_code, ("organise",))
    codes = _begin(database, ("organise",))
    with pytest.raises(SecondFactorNeeded):
        _approve(database, owner, codes.user_code, ("organise",), factor=True)
    for label, scopes in (("", BOTH), ("x", ()), ("x", ("root",))):
        with pytest.raises(Invalid), database.write() as session:
            device_logins.begin(session, label, scopes, "")


def test_what_ends_tokens_ends_an_approval_that_waits(database: Database) -> None:
    """Closed, or signed out everywhere, between approval and question: no token."""
    for number, act in enumerate((closing.close, closing.sign_out)):
        owner = people.account(database, f"Ada {number}")
        codes = _begin(database)
        _approve(database, owner, codes.user_code)
        with database.write() as session:
            act(session, OPERATOR, owner)
        assert _poll(database, codes).token is None
    with database.read() as session:
        assert session.scalar(select(func.count(ApiToken.id))) == 0


def test_beginning_and_guessing_are_throttled(database: Database) -> None:
    """Thirty an hour from one network begin; ten codes in a quarter of an hour are typed by one account."""
    asker = people.viewer(database, people.account(database, "Ada"))
    for number in range(device_logins.BEGUN_AN_HOUR):
        _begin(database, ip=f"2001:db8::{number:x}")
    with pytest.raises(OverQuota):
        _begin(database, ip="2001:db8::ffff")
    with database.write() as session:
        for _ in range(device_logins.GUESSES):
            device_logins.count_guess(session, asker)
        with pytest.raises(OverQuota):
            device_logins.count_guess(session, asker)
