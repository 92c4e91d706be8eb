"""Tokens of the API: a program that has one acts for its owner, within scopes, for one task, a team or all.

A token never has more rights than its owner has at that moment, and it makes no tokens.

By the prefix and the checksum a scanner of published files tells one from chance, and one that was mistyped
or cut off is known without looking it up. The underscore lets a double click select all of it.
"""

import re
import secrets
import string
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated
from zlib import crc32

from sqlalchemy import bindparam, delete, func, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, ApiToken, DeviceRequest
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, OverQuota, SecondFactorNeeded
from leaderboard.fields import Field
from leaderboard.services import audit, throttles
from leaderboard.services.accounts import second_factors, sessions
from leaderboard.services.actions import Action, by_account
from leaderboard.services.policy import (
    Scope,
    Viewer,
    organises,
    require_account,
    require_operator,
    require_person,
    viewer_of,
    visible_task,
    without_organising,
)

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS = 30
"""Of 62 letters and digits: 178 random bits, so a fast digest of them is enough."""
CHECKSUM_CHARACTERS = 6
"""62**6 is more than 2**32."""
SHOWN_CHARACTERS = 8
LETTERS = {"personal": "p", "runner": "r"}
FORM = re.compile("lb_[pr][0-9A-Za-z]{36}")
"""Random characters and checksum."""


def made(kind: str) -> str:
    """A new secret of a token of that kind."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    body = f"lb_{LETTERS[kind]}{drawn}"
    return body + checksum(body)


def is_whole(secret: str) -> bool:
    """Whether the text has the form of a secret and its checksum is right."""
    body, end = secret[:-CHECKSUM_CHARACTERS], secret[-CHECKSUM_CHARACTERS:]
    return FORM.fullmatch(secret) is not None and checksum(body) == end


def prefix(secret: str) -> str:
    """The first characters, by which an owner tells tokens apart; they help nobody to guess the rest."""
    return secret[:SHOWN_CHARACTERS]


def checksum(body: str) -> str:
    """The CRC-32 of what comes before it, as six letters and digits.

    >>> checksum("lb_p000000000000000000000000000000")
    '2UE54C'
    """
    number, text = crc32(body.encode("ascii")), ""
    for _ in range(CHECKSUM_CHARACTERS):
        number, digit = divmod(number, len(ALPHABET))
        text = ALPHABET[digit] + text
    return text


PERSONAL, RUNNER = "personal", "runner"
KINDS = {
    PERSONAL: "A program that acts for you",
    RUNNER: "A runner: a machine that executes systems and sends their runs to the task chosen below",
}
DAYS = 90
MOST_DAYS = 366
MOST = 20
"""Tokens in force that an account may have."""
MADE_A_DAY = 40
LABEL_CHARACTERS = 80
STAMP_EVERY = timedelta(minutes=1)
"""How stale the last use may grow before it is written again."""
IN_FORCE, EXPIRED, REVOKED = "in force", "expired", "revoked"


MEANINGS = {
    Scope.READ: "see what you see",
    Scope.SUBMIT: "send, mark, describe and withdraw runs of your teams, and look after their webhooks",
    Scope.ORGANISE: "change the tasks that you organise, and their pools, assessors and webhooks",
    Scope.JUDGE: "hand in judgments where you look after the assessors",
}
GUARDED = frozenset((Scope.ORGANISE, Scope.JUDGE))
"""Scopes that need a second factor where organisers need one."""
SCOPES_OF_KIND = {PERSONAL: frozenset(Scope), RUNNER: frozenset((Scope.READ, Scope.SUBMIT))}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """What a new token is to be; slug and team_id bind it to a task or team."""

    label: Annotated[
        str,
        Field(title="Label", help="Where it is used, so that you know it again.", longest=LABEL_CHARACTERS),
    ]
    scopes: Annotated[
        tuple[str, ...],
        Field(
            title="What it may be used for",
            choices={scope.value: f"{scope}: {meaning}" for scope, meaning in MEANINGS.items()},
            option="scope",
        ),
    ] = (Scope.READ, Scope.SUBMIT)
    kind: Annotated[str, Field(title="Who has it", choices=KINDS)] = PERSONAL
    slug: Annotated[str, Field(title="Task", help="The only one that it is for.", option="task")] = ""
    team_id: Annotated[
        int | None, Field(title="Team", help="The only one that it is for.", option="team")
    ] = None
    days: Annotated[
        int,
        Field(
            title="It ends after",
            help=f"Days, {DAYS} unless told; 0: without an end.",
            least=0,
            most=MOST_DAYS,
        ),
    ] = DAYS


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was made just now; its secret can be read only now."""

    id: int
    secret: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class TokenViewer:
    """Who asks by a token: its owner as far as the token goes, and what the token is for."""

    viewer: Viewer
    token_id: int
    kind: str
    scopes: frozenset[Scope]
    task_id: int | None
    team_id: int | None
    stamp_due: bool
    """Whether `stamp` is to be called, in a writing session."""

    def require(self, scope: Scope) -> None:
        """Raise Forbidden where the token lacks the scope."""
        if scope not in self.scopes:
            has = ", ".join(sorted(self.scopes)) or "none"
            raise Forbidden(f"This token lacks the scope {scope}; it has {has}. Make one that has it.")

    def require_any(self, scopes: Collection[Scope]) -> None:
        """Raise Forbidden where the token has none of the scopes."""
        if not self.scopes & set(scopes):
            self.require(next(iter(scopes)))

    def require_free(self) -> None:
        """Raise Forbidden for a token that is bound: for what belongs to no task, such as making teams."""
        if self.task_id is not None or self.team_id is not None:
            raise Forbidden("This token is for one task or team only; make one for all of yours.")


# Made once: every request of a program begins with it.
_WITH_OWNER = (
    select(ApiToken, Account)
    .join(Account, Account.id == ApiToken.account_id)
    .where(ApiToken.token_sha256 == bindparam("digest"), Account.disabled_at.is_(None))
)


def token_viewer(session: Session, secret: str, *, ip: str = "", factor_needed: bool) -> TokenViewer | None:
    """Who asks by that secret; None where it is no token in force (`why_refused` says which).

    factor_needed: whether organisers of this site need a second factor: an owner who has none any longer is
    no organiser here either.
    """
    if not is_whole(secret):
        return None
    # A digest is looked up, not compared: how long that takes tells nothing of the secret.
    row = session.execute(_WITH_OWNER, {"digest": sessions.digest(secret)}).one_or_none()
    if row is None:
        return None
    token, account = row.ApiToken, row.Account
    at = now(session)
    if state(token, at) != IN_FORCE:
        return None
    owner = viewer_of(session, account.id, account.name, account.is_organiser, ip)
    if factor_needed and not second_factors.is_on(session, account.id):
        owner = without_organising(owner)
    scopes = frozenset(map(Scope, token.scopes))
    due = token.last_used_at is None or at - token.last_used_at >= STAMP_EVERY
    narrowed = _narrowed(owner, token, scopes)
    return TokenViewer(narrowed, token.id, token.kind, scopes, token.task_id, token.team_id, due)


def _narrowed(owner: Viewer, token: ApiToken, scopes: frozenset[Scope]) -> Viewer:
    """The owner without the rights that the token does not give; it never operates the site."""

    def within(tasks: frozenset[int]) -> frozenset[int]:
        return tasks if token.task_id is None else tasks & {token.task_id}

    runs_for = within(owner.organises) if token.kind == RUNNER else frozenset()

    may_organise = Scope.ORGANISE in scopes
    may_coordinate = bool(scopes & GUARDED)
    is_free = token.task_id is None and token.team_id is None
    return replace(
        owner,
        is_organiser=owner.is_organiser and may_organise and is_free,
        organises=within(owner.organises) if may_organise else frozenset(),
        coordinates=within(owner.coordinates | owner.organises) if may_coordinate else frozenset(),
        # A program that may only read sees of its owner's tasks what the owner does, and changes nothing.
        reads=within(owner.reads | owner.organises) if Scope.READ in scopes else frozenset(),
        team_ids=owner.team_ids if token.team_id is None else owner.team_ids & {token.team_id},
        token_id=token.id,
        only_task=token.task_id,
        executes=runs_for,
    )


def why_refused(session: Session, secret: str) -> str:
    """Why `token_viewer` gives None, as a sentence; who has a secret may know what became of it."""
    if not is_whole(secret):
        return "This is no whole token: a character is wrong or missing. Copy all of it, from lb_ to its end."
    token = session.scalar(select(ApiToken).where(ApiToken.token_sha256 == sessions.digest(secret)))
    if token is None:
        return "This site does not know this token; it may be of another site. Make one at /account/tokens."
    if token.revoked_at is None and token.expires_at is not None and token.expires_at <= now(session):
        return f"This token expired on {token.expires_at:%Y-%m-%d}; make another one at /account/tokens."
    return "This token was revoked; make another one at /account/tokens."


def stamp(session: Session, token_id: int, viewer: Viewer) -> None:
    """Note that the token was used just now; its first use goes on record."""
    used = update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=now(session))
    first = session.scalars(used.where(ApiToken.last_used_at.is_(None)).returning(ApiToken.id)).all()
    if first:
        audit.record(session, viewer, "token.first_use", f"token:{token_id}")
    else:
        session.execute(used)


def state(token: ApiToken, at: datetime) -> str:
    """Whether a token is in force at a moment, expired or revoked."""
    if token.revoked_at is not None:
        return REVOKED
    return EXPIRED if token.expires_at is not None and token.expires_at <= at else IN_FORCE


def make(session: Session, viewer: Viewer, wanted: TokenRequest, *, factor_needed: bool) -> NewToken:
    """A new token of the viewer, who is signed in with a browser.

    factor_needed: whether organisers of this site need a second factor. Raises Invalid for a bad request,
    NotFound for a task or team that is not the viewer's, Forbidden for what the viewer may not give,
    SecondFactorNeeded where the scopes ask for one, OverQuota for too many tokens.
    """
    require_person(viewer)
    token = checked(session, viewer, wanted, factor_needed=factor_needed)
    return insert(session, viewer, token, wanted.days)


def make_for(
    session: Session, viewer: Viewer, account_id: int, wanted: TokenRequest, secret: str = ""
) -> NewToken:
    """A new token of any account, made at the command line; it is the account's own in all else.

    secret: one that was made before (`token_secrets.made`). Raises Invalid where it is not whole.
    """
    require_operator(viewer)
    if secret and not (is_whole(secret) and secret[3] == LETTERS[wanted.kind]):
        raise Invalid("This is not a whole token; `leaderboard account token secret` prints one.")
    account = session.get_one(Account, account_id)
    if account.disabled_at is not None:
        raise Conflict(f"The account {account.name!r} is closed; open it first.")
    owner = viewer_of(session, account.id, account.name, account.is_organiser)
    return insert(session, viewer, checked(session, owner, wanted, factor_needed=False), wanted.days, secret)


def checked(session: Session, owner: Viewer, wanted: TokenRequest, *, factor_needed: bool) -> ApiToken:
    """The token that is wanted, where its owner may have it, for `insert`; raises as `make` does."""
    account_id = require_account(owner)
    # A runner's scopes are those of its kind.
    words = wanted.scopes or SCOPES_OF_KIND[RUNNER] if wanted.kind == RUNNER else wanted.scopes
    scopes = read_scopes(words, wanted.kind)
    is_guarded = bool(scopes & GUARDED) or wanted.kind != PERSONAL
    if factor_needed and is_guarded and not second_factors.is_on(session, account_id):
        raise SecondFactorNeeded(
            "Tokens that organise or judge, and those of machines that work for a task, need a second factor "
            "here; set one up first."
        )
    if wanted.team_id is not None and wanted.team_id not in owner.team_ids:
        raise NotFound("You are in no team of that number.", team=wanted.team_id)
    task_id = visible_task(session, owner, wanted.slug)[0].id if wanted.slug else None
    if wanted.kind != PERSONAL and (task_id is None or not organises(owner, task_id)):
        raise Forbidden(f"A {wanted.kind}'s token is for one task, and made by an organiser of it.")
    if not wanted.days and not may_be_endless(owner):
        raise Forbidden("Only tokens of organisers may be without an end; say a number of days.")
    if not 0 <= wanted.days <= MOST_DAYS:
        raise Invalid(f"A token lasts 1 to {MOST_DAYS} days.")
    return ApiToken(
        account_id=account_id,
        label=read_label(wanted.label),
        kind=wanted.kind,
        scopes=[scope for scope in Scope if scope in scopes],
        task_id=task_id,
        team_id=wanted.team_id,
    )


def read_label(text: str) -> str:
    """The label as it is kept; raises Invalid for an empty or long one."""
    label = " ".join(text.split())
    if not label or len(label) > LABEL_CHARACTERS or not label.isprintable():
        raise Invalid(
            f"A token needs a label of 1 to {LABEL_CHARACTERS} printable characters: say where it is used."
        )
    return label


def read_scopes(words: Collection[str], kind: str = PERSONAL) -> frozenset[Scope]:
    """The scopes of those names; raises Invalid for none, for unknown ones and those a kind does not have."""
    if kind not in KINDS:
        raise Invalid(f"There is no kind of token {kind[:40]!r}; kinds are {', '.join(KINDS)}.")
    allowed = SCOPES_OF_KIND[kind]
    strangers = sorted(set(words) - {*allowed})
    if strangers or not words:
        wrong = f"not {strangers[0][:40]!r}" if strangers else "at least one"
        names = ", ".join(scope for scope in Scope if scope in allowed)
        raise Invalid(f"Choose scopes of {names}: {wrong}.")
    return frozenset(map(Scope, words))


def may_be_endless(owner: Viewer) -> bool:
    """Whether the owner's tokens may be without an end: organisers' may."""
    return owner.is_organiser or bool(owner.organises)


def insert(session: Session, maker: Viewer, row: ApiToken, days: int, secret: str = "") -> NewToken:
    """Store a token that was checked, of a new secret where none is given; days: 0 for no end.

    Raises OverQuota where its owner has too many.
    """
    # Two at once would both count the tokens before them.
    lock_row(session, Account, row.account_id)
    at = now(session)
    _require_room(session, row.account_id, at)
    secret = secret or made(row.kind)
    row.prefix, row.token_sha256 = prefix(secret), sessions.digest(secret)
    row.created_at, row.created_by = at, maker.account_id
    row.expires_at = at + timedelta(days=days) if days else None
    session.add(row)
    session.flush()
    subject = {"account": row.account_id, "task": row.task_id, "team": row.team_id}
    audit.record(session, maker, "token.make", f"token:{row.id}", kind=row.kind, scopes=row.scopes, **subject)
    return NewToken(row.id, secret, row.expires_at)


def _require_room(session: Session, account_id: int, at: datetime) -> None:
    throttles.spend(
        session, f"tokens {account_id}", MADE_A_DAY, timedelta(days=1), "Too many tokens were made today"
    )
    in_force = select(func.count(ApiToken.id)).where(
        ApiToken.account_id == account_id,
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > at),
    )
    if (session.scalar(in_force) or 0) >= MOST:
        raise OverQuota(f"An account has {MOST} tokens at most; revoke one that is not needed.")


def revoke(session: Session, viewer: Viewer, token_id: int) -> None:
    """End a token of the viewer's, or, for operators, any; a program may end the one it asks by.

    Raises NotFound for a token of others, Conflict where it has ended.
    """
    if viewer.token_id is not None and viewer.token_id != token_id:
        require_person(viewer)
    token = session.get(ApiToken, token_id, with_for_update=True, populate_existing=True)
    is_operator = viewer.is_operator or viewer.operates
    if token is None or not (is_operator or token.account_id == require_account(viewer)):
        raise NotFound(f"There is no token {token_id} of yours.", token=token_id)
    if token.revoked_at is not None:
        raise Conflict("This token was revoked already.")
    token.revoked_at = now(session)
    audit.record(session, viewer, "token.revoke", f"token:{token_id}", account=token.account_id)


def end_all(session: Session, account_id: int | None = None) -> None:
    """End every token of an account, or of all, and what would become one; the caller records why."""
    live = update(ApiToken).where(ApiToken.revoked_at.is_(None))
    coming = delete(DeviceRequest).where(DeviceRequest.state == "approved")
    if account_id is not None:
        live = live.where(ApiToken.account_id == account_id)
        coming = coming.where(DeviceRequest.account_id == account_id)
    session.execute(live.values(revoked_at=now(session)))
    session.execute(coming)


ACTIONS = (
    Action(
        name="make",
        summary="Make a token for an account and print its secret, this once",
        form="/account/tokens",
        may=by_account,
        record=TokenRequest,
        act=make,
        site=lambda settings: {"factor_needed": settings.require_second_factor},
    ),
    Action(
        name="revoke",
        summary="End a token by its number, as `list` prints it",
        form="/account/tokens/<id:token_id>/revoke",
        page="tokens.index",
        may=by_account,
        act=revoke,
        done="revoked",
    ),
)
