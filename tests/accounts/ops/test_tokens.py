"""Tokens of the API: what they may do, what ends them, and that they never have more than their owner."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from leaderboard.accounts.ops import accounts, closing, tokens
from leaderboard.accounts.ops.accounts import AccountCredentials
from leaderboard.accounts.ops.tokens import NewToken, TokenRequest, TokenViewer
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Scope, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, ApiToken, Audit, Task, TaskRole
from leaderboard.errors import (
    Conflict,
    Forbidden,
    Invalid,
    LeaderboardError,
    NotFound,
    OverQuota,
    SecondFactorNeeded,
    SignInNeeded,
)
from tests.make import build, people

ALL = tuple(Scope)
WANTED = TokenRequest(label="laptop", scopes=ALL)


def _make(
    database: Database, account_id: int, wanted: TokenRequest = WANTED, *, factor_needed: bool = False
) -> NewToken:
    asker = people.viewer(database, account_id)
    with database.write() as session:
        return tokens.make(session, asker, wanted, factor_needed=factor_needed)


def _asks(database: Database, secret: str, *, factor_needed: bool = False) -> TokenViewer | None:
    with database.read() as session:
        return tokens.token_viewer(session, secret, factor_needed=factor_needed)


def _viewer(database: Database, secret: str) -> Viewer:
    asking = _asks(database, secret)
    assert asking is not None
    return asking.viewer


def _why(database: Database, secret: str) -> str:
    with database.read() as session:
        return tokens.why_refused(session, secret)


def _id(database: Database, slug: str) -> int:
    with database.read() as session:
        return session.scalars(select(Task.id).where(Task.slug == slug)).one()


def test_a_secret_can_be_told_from_chance_and_from_a_mistyped_one() -> None:
    """Every kind has a letter; each single wrong character, a cut and a swap are seen by the form alone."""
    for kind in tokens.KINDS:
        secret = tokens.made(kind)
        assert secret[:4] == f"lb_{kind[0]}"
        assert tokens.is_whole(secret)
        wrong = [
            secret[:at] + ("a" if secret[at] != "a" else "b") + secret[at + 1 :] for at in range(len(secret))
        ]
        wrong += [secret[:-1], secret + "0", secret + "\n", "", secret.replace("lb_", "xx_")]
        assert [text for text in wrong if tokens.is_whole(text)] == []
    assert len({tokens.made("personal") for _ in range(100)}) == 100


@pytest.mark.dialect
def test_a_token_is_its_owner_as_far_as_it_goes(database: Database, tmp_path: Path) -> None:
    """Teams, tasks and roles of the owner now, cut to scopes, task and team; only a digest is stored."""
    build.task(database, tmp_path)
    task_id = _id(database, "t")
    owner = people.account(database, "Ada", is_organiser=True)
    one, other = people.team(database, "One", owner), people.team(database, "Other", owner)
    with database.write() as session:
        session.add(TaskRole(task_id=task_id, account_id=owner, role="organiser"))
    whole = _make(database, owner)
    asker = _viewer(database, whole.secret)
    assert asker == replace(
        people.viewer(database, owner, ip=""),
        token_id=whole.id,
        coordinates=frozenset({task_id}),
        reads=frozenset({task_id}),
    )
    reading = _viewer(database, _make(database, owner, replace(WANTED, scopes=("read",))).secret)
    assert (reading.is_organiser, reading.organises, reading.coordinates) == (False, set(), set())
    assert reading.reads == {task_id}
    sending = _viewer(database, _make(database, owner, replace(WANTED, scopes=("submit",))).secret)
    assert (sending.reads, sending.coordinates, sending.team_ids) == (set(), set(), {one, other})
    for_team = _viewer(database, _make(database, owner, replace(WANTED, team_id=other)).secret)
    assert (for_team.team_ids, for_team.is_organiser) == ({other}, False)
    for_task = _viewer(database, _make(database, owner, replace(WANTED, slug="t")).secret)
    assert (for_task.only_task, for_task.organises, for_task.team_ids) == (task_id, {task_id}, {one, other})
    with database.write() as session:
        session.execute(update(Account).values(is_organiser=False))
        session.query(TaskRole).delete()
    assert _viewer(database, whole.secret) == replace(
        people.viewer(database, owner, ip=""), token_id=whole.id
    )
    with database.read() as session:
        for row in session.scalars(select(ApiToken)):
            assert whole.secret not in str(vars(row))


def test_a_token_for_one_task_sees_no_other(database: Database, tmp_path: Path) -> None:
    """Another task and its runs are refused, whoever may see them; one that nobody knows of stays unknown."""
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, {"1": ["d1"]})
    build.task(database, tmp_path, "other")
    owner = people.account(database, "Ada")
    bound = _viewer(database, _make(database, owner, replace(WANTED, slug="other")).secret)
    with database.read() as session:
        assert policy.visible_task(session, bound, "other")[0].slug == "other"
        with pytest.raises(Forbidden, match="This token is not for"):
            policy.visible_task(session, bound, "t")
        with pytest.raises(Forbidden, match="This token is not for"):
            policy.visible_run(session, bound, run_id)
        with pytest.raises(NotFound):
            policy.visible_task(session, bound, "none")


def test_what_is_asked_for_is_checked(database: Database, tmp_path: Path) -> None:
    """Each bad request is refused by its own error, and nothing is stored."""
    build.task(database, tmp_path)
    owner = people.account(database, "Ada")
    stranger = people.team(database, "Not hers", people.account(database, "Eve"))
    cases: list[tuple[type[LeaderboardError], dict[str, Any]]] = [
        (Invalid, {"label": " "}),
        (Invalid, {"label": "x" * 81}),
        (Invalid, {"label": "a\u202eb"}),
        (Invalid, {"scopes": ()}),
        (Invalid, {"scopes": ("root",)}),
        (Invalid, {"kind": "super"}),
        (Forbidden, {"kind": "runner", "scopes": ("organise",)}),
        (Invalid, {"days": -1}),
        (Invalid, {"days": 367}),
        (Forbidden, {"days": 0}),
        (NotFound, {"slug": "none"}),
        (NotFound, {"team_id": stranger}),
        (Invalid, {"kind": "worker", "scopes": ("read",)}),
        (Forbidden, {"kind": "runner", "scopes": ("read",)}),
        (Forbidden, {"kind": "runner", "scopes": ("read",), "slug": "t"}),
    ]
    faults = []
    for kind, wanted in cases:
        try:
            _make(database, owner, replace(WANTED, **wanted))
            faults.append(f"{wanted}: made")
        except LeaderboardError as error:
            if type(error) is not kind:
                faults.append(f"{wanted}: {error!r}")
    assert faults == []
    with database.write() as session:
        assert session.scalar(select(func.count(ApiToken.id))) == 0
        with pytest.raises(SignInNeeded):
            tokens.make(session, ANONYMOUS, WANTED, factor_needed=False)


def test_tokens_make_no_tokens(database: Database) -> None:
    """A program can end the token that it asks by, and neither make another nor end others."""
    owner = people.account(database, "Ada")
    first, second = _make(database, owner), _make(database, owner)
    asker = _viewer(database, first.secret)
    for act in (
        lambda session: tokens.make(session, asker, WANTED, factor_needed=False),
        lambda session: tokens.revoke(session, asker, second.id),
    ):
        with pytest.raises(Forbidden, match="not possible with a token"), database.write() as session:
            act(session)
    with database.write() as session:
        tokens.revoke(session, asker, first.id)
    assert _asks(database, first.secret) is None
    assert "revoked" in _why(database, first.secret)


@pytest.mark.dialect
def test_what_ends_a_token(database: Database) -> None:
    """Its owner, an operator, its date, and whatever ends all its sessions; never another account."""
    eve = people.account(database, "Eve")

    def revoked(session: Any, owner: Viewer, token: NewToken) -> None:
        tokens.revoke(session, owner, token.id)

    def by_operator(session: Any, owner: Viewer, token: NewToken) -> None:
        tokens.revoke(session, OPERATOR, token.id)

    def expired(session: Any, owner: Viewer, token: NewToken) -> None:
        session.execute(update(ApiToken).values(expires_at=now(session) - timedelta(seconds=1)))

    def closed(session: Any, owner: Viewer, token: NewToken) -> None:
        closing.close(session, OPERATOR, owner.account_id or 0)

    def signed_out(session: Any, owner: Viewer, token: NewToken) -> None:
        accounts.leave_everywhere(session, owner)

    def new_password(session: Any, owner: Viewer, token: NewToken) -> None:
        accounts.set_password(session, OPERATOR, owner.name, people.HASH)

    def deleted(session: Any, owner: Viewer, token: NewToken) -> None:
        closing.delete_account(session, owner, AccountCredentials(owner.account_id, people.HASH.text))

    def everybody(session: Any, owner: Viewer, token: NewToken) -> None:
        closing.sign_out_everybody(session, OPERATOR)

    acts: tuple[Callable[[Any, Viewer, NewToken], None], ...] = (
        *(revoked, by_operator, expired, closed, signed_out, new_password, deleted, everybody),
    )
    alive = []
    for number, act in enumerate(acts):
        owner = people.account(database, f"Owner {number}")
        token = _make(database, owner)
        assert _asks(database, token.secret) is not None
        with pytest.raises(NotFound), database.write() as session:
            tokens.revoke(session, Viewer(eve), token.id)
        asker = people.viewer(database, owner)
        with database.write() as session:
            act(session, asker, token)
        if _asks(database, token.secret) is not None:
            alive.append(act.__name__)
    assert alive == []


def test_scopes_of_organisers_need_the_second_factor_of_the_site(database: Database) -> None:
    """Without one no such token is made; and one made before organises nothing once the factor is off."""
    owner = people.account(database, "Ada", is_organiser=True)
    for scope in ("organise", "judge"):
        with pytest.raises(SecondFactorNeeded):
            _make(database, owner, replace(WANTED, scopes=(scope,)), factor_needed=True)
    _make(database, owner, replace(WANTED, scopes=("read", "submit")), factor_needed=True)
    runner = replace(WANTED, scopes=("read", "submit"), kind="runner", slug="t")
    with pytest.raises(SecondFactorNeeded):
        _make(database, owner, runner, factor_needed=True)
    early = _make(database, owner)
    without = _asks(database, early.secret, factor_needed=True)
    assert without is not None
    assert (without.viewer.is_organiser, without.viewer.needs_second_factor) == (False, True)
    people.second_factor(database, owner)
    _make(database, owner, factor_needed=True)
    with_factor = _asks(database, early.secret, factor_needed=True)
    assert with_factor is not None
    assert with_factor.viewer.is_organiser


@pytest.mark.dialect
def test_an_account_has_twenty_tokens_even_when_made_at_once(database: Database) -> None:
    """Of the last place two requests get one; a revoked token makes room."""
    owner = people.account(database, "Ada")
    first = _make(database, owner)
    for _ in range(tokens.MOST - 2):
        _make(database, owner)

    def attempt(_: int) -> str:
        try:
            _make(database, owner)
        except OverQuota:
            return "refused"
        return "made"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, range(2))) == ["made", "refused"]
    asker = people.viewer(database, owner)
    with database.write() as session:
        tokens.revoke(session, asker, first.id)
        with pytest.raises(Conflict):
            tokens.revoke(session, asker, first.id)
    assert attempt(0) == "made"


def test_use_is_stamped_and_its_first_is_on_record(database: Database) -> None:
    """Made, first use and end are acts; a use a moment later needs no stamp."""
    owner = people.account(database, "Ada")
    token = _make(database, owner)
    asking = _asks(database, token.secret)
    assert asking is not None
    assert asking.stamp_due
    for _ in range(2):
        with database.write() as session:
            tokens.stamp(session, token.id, asking.viewer)
    again = _asks(database, token.secret)
    assert again is not None
    assert not again.stamp_due
    with database.write() as session:
        tokens.revoke(session, asking.viewer, token.id)
        rows = session.scalars(select(Audit).where(Audit.subject == f"token:{token.id}").order_by(Audit.id))
        acts = [(row.action, row.detail.get("token")) for row in rows]
    assert acts == [("token.make", None), ("token.first_use", token.id), ("token.revoke", token.id)]


def test_who_has_a_secret_is_told_what_is_wrong_with_it(database: Database) -> None:
    """Mistyped, unknown and expired are three sentences; a missing scope is named."""
    owner = people.account(database, "Ada")
    token = _make(database, owner, replace(WANTED, scopes=("read",)))
    asking = _asks(database, token.secret)
    assert asking is not None
    asking.require(Scope.READ)
    asking.require_free()
    with pytest.raises(Forbidden, match="limited to one task or team"):
        replace(asking, team_id=1).require_free()
    with pytest.raises(Forbidden, match="lacks the scope submit; it has read"):
        asking.require(Scope.SUBMIT)
    assert "This token is not valid" in _why(database, token.secret[:-1])
    assert "is not known here" in _why(database, tokens.made("personal"))
    with database.write() as session:
        session.execute(update(ApiToken).values(expires_at=now(session) - timedelta(days=1)))
    assert "expired" in _why(database, token.secret)
