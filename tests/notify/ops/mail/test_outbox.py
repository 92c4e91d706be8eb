"""Letters on their way: sent once, tried again, given up, never more than an hour takes."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Job, Mail
from leaderboard.errors import Forbidden, NotFound
from leaderboard.notify.ops import mail
from leaderboard.notify.ops.mail import MailDraft
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import people, smtp
from tests.make.smtp import Post

pytestmark = pytest.mark.dialect
DRAFT = MailDraft("Hello", "The body.")


@pytest.fixture
def post() -> Iterator[tuple[Post, Settings]]:
    """A mail server, and settings that send mail there."""
    with smtp.server() as (post, url):
        yield post, smtp.settings_of(url, mails_an_hour=2)


def _people(database: Database, *names: str) -> list[int]:
    ids = [people.account(database, name) for name in names]
    for account_id, name in zip(ids, names, strict=True):
        people.confirmed_address(database, account_id, f"{name.lower()}@example.org")
    return ids


def _write(database: Database, *account_ids: int, draft: MailDraft = DRAFT) -> int:
    with database.write() as session:
        return mail.write_mail(session, account_ids, draft)


def _letters(database: Database) -> list[tuple[str, str, int, str]]:
    with database.read() as session:
        rows = session.scalars(select(Mail).order_by(Mail.id))
        return [(row.address.partition("@")[0], row.state, row.attempts, row.error) for row in rows]


def _make_due(database: Database) -> None:
    with database.write() as session:
        session.execute(update(Mail).values(next_at=now(session)))


def test_letters_go_to_confirmed_addresses_once(database: Database, post: tuple[Post, Settings]) -> None:
    """Accounts without an address, with one that is not confirmed, that bounced, or closed get none."""
    ann, bob, cay, dot = _people(database, "Ann", "Bob", "Cay", "Dot")
    eve = people.account(database, "Eve")
    with database.write() as session:
        at = now(session)
        for account_id, values in (
            (bob, {"email_confirmed_at": None}),
            (cay, {"email_bounced_at": at}),
            (dot, {"disabled_at": at}),
        ):
            session.execute(update(Account).where(Account.id == account_id).values(**values))
    assert _write(database, ann, ann, bob, cay, dot, eve) == 1
    received, settings = post
    evaluator = Evaluator(database, settings)
    assert evaluator.drain() == 1
    _make_due(database)
    assert evaluator.drain() == 0
    assert received.receivers == ["ann@example.org"]
    assert _letters(database) == [("ann", "sent", 1, "")]


def test_a_letter_may_have_the_number_of_one_that_was_deleted(
    database: Database, post: tuple[Post, Settings]
) -> None:
    """SQLite gives numbers again: the job that was left for the first one sends the second."""
    (ann,) = _people(database, "Ann")
    _write(database, ann)
    with database.write() as session:
        session.execute(delete(Mail))
    _write(database, ann)
    received, settings = post
    Evaluator(database, settings).drain()
    assert received.receivers == ["ann@example.org"]


def test_a_refusal_for_now_is_tried_again_later(database: Database, post: tuple[Post, Settings]) -> None:
    """Not before its pause is over; the server's words are kept until it is sent."""
    (ann,) = _people(database, "Ann")
    _write(database, ann)
    received, settings = post
    received.answers = ["450 4.2.0 later"]
    evaluator = Evaluator(database, settings)
    assert (evaluator.drain(), evaluator.drain()) == (1, 0)
    assert _letters(database) == [("ann", "waiting", 1, "450 4.2.0 later")]
    with database.read() as session:
        pause = session.scalars(select(Mail.next_at)).one() - now(session)
    assert timedelta(seconds=50) < pause <= timedelta(seconds=60)
    _make_due(database)
    assert evaluator.drain() == 1
    assert (_letters(database), len(received.letters)) == ([("ann", "sent", 2, "")], 1)


def test_an_address_that_is_none_is_given_up(database: Database, post: tuple[Post, Settings]) -> None:
    """What waits for it is not sent, nothing new is written, until the account has another one."""
    (ann,) = _people(database, "Ann")
    _write(database, ann)
    _write(database, ann)
    received, settings = post
    received.answers = ["550 5.1.1 unknown"]
    Evaluator(database, settings).drain()
    assert _letters(database) == [
        ("ann", "bounced", 1, "550 5.1.1 unknown"),
        ("ann", "bounced", 0, "550 5.1.1 unknown"),
    ]
    assert _write(database, ann) == 0
    people.confirmed_address(database, ann, "other@example.org")
    assert _write(database, ann) == 1
    Evaluator(database, settings).drain()
    assert received.receivers == ["other@example.org"]


def test_a_server_that_is_away_is_asked_once_a_minute(database: Database) -> None:
    """One letter meets it; the others are put off with it, and all go out once it is back."""
    _write(database, *_people(database, "Ann", "Bob", "Cay"))
    gone = Evaluator(database, smtp.settings_of("smtp://127.0.0.1:9"))
    assert gone.drain() == 3
    states = _letters(database)
    assert [state for _, state, _, _ in states] == ["waiting"] * 3
    assert sorted(tries for _, _, tries, _ in states) == [0, 0, 1]
    assert "refused" in states[0][3]
    _make_due(database)
    with smtp.server() as (received, url):
        Evaluator(database, smtp.settings_of(url)).drain()
    assert sorted(received.receivers) == ["ann@example.org", "bob@example.org", "cay@example.org"]


def test_an_address_gets_so_many_an_hour(database: Database, post: tuple[Post, Settings]) -> None:
    """The third of two an hour waits until the hour is over, without counting as tried."""
    ann, bob = _people(database, "Ann", "Bob")
    for _ in range(3):
        _write(database, ann)
    _write(database, bob)
    received, settings = post
    Evaluator(database, settings).drain()
    assert received.receivers.count("ann@example.org") == 2
    assert _letters(database)[2][1:3] == ("waiting", 0)
    _make_due(database)
    Evaluator(database, settings).drain()
    assert received.receivers.count("ann@example.org") == 2
    assert received.receivers.count("bob@example.org") == 1


def test_letters_to_an_address_that_was_changed_stay_here(
    database: Database, post: tuple[Post, Settings]
) -> None:
    """A letter written for the old address is not sent there, nor to the new one."""
    (ann,) = _people(database, "Ann")
    _write(database, ann)
    people.confirmed_address(database, ann, "new@example.org")
    received, settings = post
    Evaluator(database, settings).drain()
    assert received.receivers == []
    assert _letters(database) == [("ann", "failed", 0, "The account's mail address has changed.")]


@pytest.mark.trial
def test_a_letter_that_kills_its_evaluator_is_given_up(
    database: Database, post: tuple[Post, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try is counted before it is made, so that it ends some day; it is put off meanwhile."""
    (ann,) = _people(database, "Ann")
    _write(database, ann)

    def die(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("leaderboard.notify.ops.mail.send_mail", die)
    evaluator = Evaluator(database, replace(post[1], mails_an_hour=99))
    for _ in range(mail.MOST_ATTEMPTS + 1):
        evaluator.drain()
        _make_due(database)
        with database.write() as session:
            session.execute(update(Job).values(run_after=now(session)))
    evaluator.drain()
    assert _letters(database)[0][:3] == ("ann", "failed", mail.MOST_ATTEMPTS)


def test_nobody_without_a_server_claims_mail(database: Database, tmp_path: Path) -> None:
    """An evaluator that was told of no mail server leaves letters to others, and does all else."""
    _write(database, *_people(database, "Ann"))
    with database.write() as session:
        assert queue.claim(session, "here:1", Settings(data=tmp_path)) is None
        assert queue.claim(session, "here:1", smtp.settings_of("smtp://x")) is not None


def test_one_letter_at_a_time(database: Database) -> None:
    """While one waits for the server, the other evaluators are there for runs."""
    _write(database, *_people(database, "Ann", "Bob"))
    settings = smtp.settings_of("smtp://x")
    with database.write() as session:
        assert queue.claim(session, "here:1", settings) is not None
        assert queue.claim(session, "here:2", settings) is None


def test_the_operator_may_begin_again(database: Database, post: tuple[Post, Settings]) -> None:
    """A letter that was refused for good is tried anew; one that was sent, or bounced, is not."""
    (ann,) = _people(database, "Ann")
    _write(database, ann)
    received, settings = post
    received.data_answers = ["554 5.6.0 spam"]
    Evaluator(database, settings).drain()
    assert _letters(database) == [("ann", "failed", 1, "554 5.6.0 spam")]
    with database.write() as session:
        with pytest.raises(Forbidden):
            mail.try_again(session, Viewer(1))
        assert mail.try_again(session, OPERATOR, 1) == 1
        with pytest.raises(NotFound):
            mail.try_again(session, OPERATOR, 1)
        assert mail.try_again(session, OPERATOR) == 0
    Evaluator(database, settings).drain()
    assert _letters(database) == [("ann", "sent", 1, "")]
